//! The share of failures within a sliding time.

/// To come.
#[derive(Debug)]
pub struct SlidingRatio;

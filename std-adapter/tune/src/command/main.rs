//! Replays a log of calls before breakers with other settings.

fn main() {}

//! What must not compile.

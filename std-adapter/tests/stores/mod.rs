//! What the tests of all databases share, beside the contract: `storm` kills workers at random, `claims` measures.

pub(crate) mod claims;
mod diary;
pub(crate) mod storm;

/// A number from the environment, for longer runs than the ordinary ones.
pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name}={text}: give it a number")),
        Err(_) => otherwise,
    }
}

/// Whether the arguments of `cargo test` name this program: they are those of other tests, too.
pub(crate) fn is_asked_for(name: &str) -> bool {
    let mut filters = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .peekable();
    let is_listed = std::env::args().any(|word| word == "--list");
    !is_listed && (filters.peek().is_none() || filters.any(|filter| name.contains(&filter)))
}

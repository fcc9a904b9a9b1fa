//! Errors with their causes.

use std::error::Error;
use std::fmt::{self, Write};
use std::iter::successors;

use crate::words::without_secrets;

/// An error whose text names its causes, to be shown, logged and kept by a breaker: at most 8 of them and 512 bytes,
/// without the URL that reqwest adds, and without likely secrets in the others.
///
/// ```text
/// hyper-util:  client error (Connect)
/// this:        client error (Connect): tcp connect error: Connection refused (os error 111)
/// ```
///
/// `ClientGuard` does so by itself. Elsewhere it goes directly below the breaker: `.map_err(WithCauses)`.
///
/// ```
/// use atomic_breaker_http::WithCauses;
/// use std::{error::Error, fmt, io};
///
/// #[derive(Debug)]
/// struct NoConnection(io::Error);
///
/// impl fmt::Display for NoConnection {
///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
///         f.write_str("no connection")
///     }
/// }
///
/// impl Error for NoConnection {
///     fn source(&self) -> Option<&(dyn Error + 'static)> {
///         Some(&self.0)
///     }
/// }
///
/// let error = NoConnection(io::Error::other("refused"));
/// assert_eq!(WithCauses(error).to_string(), "no connection: refused");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithCauses<E>(pub E);

impl<E: Error + 'static> fmt::Display for WithCauses<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text_of(&self.0))
    }
}

impl<E: Error + 'static> Error for WithCauses<E> {
    /// That of the inner error: `Display` shows it, too, but here code that walks the chain finds it whatever `E` is.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// An error and its causes, in a few words, [without what may be secret](crate::words::without_secrets): at most 512
/// bytes of at most eight of them.
pub fn text_of(error: &(dyn Error + 'static)) -> String {
    let mut text = Text::<512>::default();
    for cause in successors(Some(error), |&error| error.source()).take(8) {
        // Cut only after secrets are removed: half a secret does not look like one. The buffer is larger than what is
        // examined there.
        let mut words = Text::<{ 17 * 1024 }>::default();
        // Fails when it is full, keeping what fits.
        let _ = write!(words, "{cause}");
        let words = without_secrets(&words.0);
        // Some texts already name the cause.
        if text.0.is_empty() || !text.0.ends_with(&words) {
            let colon = if text.0.is_empty() { "" } else { ": " };
            let _ = write!(text, "{colon}{words}");
        }
    }
    text.0
}

/// A text of at most this many bytes, however long an error is.
#[derive(Default)]
struct Text<const MAX_BYTES: usize>(String);

impl<const MAX_BYTES: usize> Write for Text<MAX_BYTES> {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = MAX_BYTES - self.0.len();
        if more.len() <= room {
            self.0.push_str(more);
            return Ok(());
        }
        let fits = (0..=room).rev().find(|&end| more.is_char_boundary(end));
        self.0.push_str(&more[..fits.unwrap_or(0)]);
        Err(fmt::Error)
    }
}

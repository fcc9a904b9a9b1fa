// SPDX-License-Identifier: MIT OR Apache-2.0
//! The marks that enclose a URL, and those that are part of its password.

use super::urls::ends_token;

/// The greatest distance at which the `@` after a password is looked for, in characters.
const FAR: usize = 256;

/// The marks that were opened and not closed before a place in a text.
#[derive(Default)]
pub(super) struct Marks {
    /// Quotation marks, each with the number of `\` before it, and `<`: no two are the same, so they are few.
    open: Vec<(char, usize)>,
    /// The number of `\` that come directly before.
    pub(super) slashes: usize,
}

impl Marks {
    /// Notes a mark that is part of no token.
    pub(super) fn note(&mut self, mark: char) {
        if mark == '\\' {
            self.slashes += 1;
            return;
        }
        let slashes = std::mem::take(&mut self.slashes);
        let opened = match mark {
            '"' | '`' | '<' => (mark, slashes),
            '>' => ('<', slashes),
            _ => return,
        };
        if let Some(at) = self.open.iter().rposition(|open| *open == opened) {
            self.open.truncate(at);
        } else if mark != '>' {
            self.open.push(opened);
        }
    }

    /// The end of the token that the text begins with: at white space, or at a mark that no URL has, unless that is
    /// part of a password.
    pub(super) fn end_of_token(&self, text: &str) -> usize {
        let mut end = 0;
        while let Some(found) = text[end..].find(ends_token) {
            let at = end + found;
            if !self.is_in_password(&text[..at], &text[at..]) {
                return at;
            }
            // With the mark that a `\` escapes.
            let mark = text[at..].trim_start_matches('\\');
            end = text.len() - mark.len() + mark.chars().next().map_or(0, char::len_utf8);
        }
        text.len()
    }

    fn is_in_password(&self, token: &str, rest: &str) -> bool {
        let mark = rest.chars().next().unwrap_or(' ');
        if mark.is_whitespace() || !token.contains("://") {
            return false;
        }
        let near = rest.char_indices().nth(FAR);
        let near = near.map_or(rest, |(end, _)| &rest[..end]);
        let word = &near[..near.find(char::is_whitespace).unwrap_or(near.len())];
        word.contains('@') && !self.ends(mark, word)
    }

    /// Returns whether a mark ends the part that was opened before.
    fn ends(&self, mark: char, word: &str) -> bool {
        match mark {
            '<' => {
                let name = word.strip_prefix("</").unwrap_or_default();
                let end = name.trim_start_matches(|char: char| char.is_ascii_lowercase());
                end.len() < name.len() && end.starts_with('>')
            }
            '>' => self.open.contains(&('<', 0)),
            _ => {
                let after = word.trim_start_matches('\\');
                let slashes = word.len() - after.len();
                let mut after = after.chars();
                let quote = after.next().unwrap_or(' ');
                let is_escape = slashes % 2 == 1 && ['n', 'r', 't'].contains(&quote);
                if is_escape {
                    return !self.open.is_empty();
                }
                self.open.contains(&(quote, slashes))
                    && !after.next().is_some_and(char::is_alphanumeric)
            }
        }
    }
}

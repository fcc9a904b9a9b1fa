// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code as words and marks, without comments, texts and numbers.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    Word(String),
    /// `::`
    Path,
    Mark(char),
}

impl Token {
    pub(crate) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(own) if own == word)
    }

    pub(crate) fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }
}

pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let next = chars.get(at + 1).copied();
        match chars[at] {
            '/' if next == Some('/') => at = find(&chars, at, '\n'),
            '/' if next == Some('*') => at = end_of_comment(&chars, at),
            '"' => at = end_of_text(&chars, at),
            '\'' => at = end_of_char(&chars, at),
            ':' if next == Some(':') => {
                found.push(Token::Path);
                at += 2;
            }
            char if char.is_alphanumeric() || char == '_' => {
                let start = at;
                while chars
                    .get(at)
                    .is_some_and(|it| it.is_alphanumeric() || *it == '_')
                {
                    at += 1;
                }
                let word: String = chars[start..at].iter().collect();
                let is_raw = word.ends_with('r') && matches!(chars.get(at), Some('"' | '#'));
                if is_raw && word.len() < 3 {
                    at = end_of_raw(&chars, at);
                } else if !char.is_numeric() {
                    found.push(Token::Word(word));
                }
            }
            char => {
                if !char.is_whitespace() {
                    found.push(Token::Mark(char));
                }
                at += 1;
            }
        }
    }
    found
}

/// The next position of this character, or the end.
fn find(chars: &[char], from: usize, wanted: char) -> usize {
    let place = chars[from..].iter().position(|char| *char == wanted);
    place.map_or(chars.len(), |place| from + place)
}

fn end_of_comment(chars: &[char], from: usize) -> usize {
    let (mut depth, mut at) = (0, from);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn end_of_text(chars: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

/// From the first `#` or quotation mark of a raw text. A raw identifier ends at once.
fn end_of_raw(chars: &[char], from: usize) -> usize {
    let hashes = chars[from..]
        .iter()
        .take_while(|char| **char == '#')
        .count();
    let mut at = from + hashes;
    if chars.get(at) != Some(&'"') {
        return at;
    }
    loop {
        at = find(chars, at + 1, '"');
        let closed = chars.iter().skip(at + 1).take(hashes);
        if at >= chars.len() || closed.filter(|char| **char == '#').count() == hashes {
            return at + 1 + hashes;
        }
    }
}

/// A character, or a lifetime with its name.
fn end_of_char(chars: &[char], from: usize) -> usize {
    if chars.get(from + 1) == Some(&'\\') {
        return find(chars, from + 3, '\'') + 1;
    }
    if chars.get(from + 2) == Some(&'\'') {
        return from + 3;
    }
    let name = chars[from + 1..].iter();
    from + 1
        + name
            .take_while(|it| it.is_alphanumeric() || **it == '_')
            .count()
}

#[test]
fn words_are_read_without_comments_texts_and_lifetimes() {
    let code = r##"a::b // c
        /* d /* e */ f */ g("h\"i", r#"j"k"#, 'l', '\'', &'m n, b"o", 0x1f)"##;
    let read = tokens(code);
    let words: Vec<_> = read.iter().filter_map(Token::word).collect();
    assert_eq!(words, ["a", "b", "g", "n", "b"]);
    assert_eq!(read[1], Token::Path);
}

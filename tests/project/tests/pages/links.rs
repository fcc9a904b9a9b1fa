// SPDX-License-Identifier: MIT OR Apache-2.0
//! The links and headings of a page in Markdown.

/// A page without its blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The targets of all `[text](target)`.
pub(crate) fn targets(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| {
        let after = line.split("](").skip(1);
        after.filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
    })
}

/// The labels of `[text][label]`.
pub(crate) fn labels(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| {
        let after = line.split("][").skip(1);
        after.filter_map(|rest| rest.split_once(']').map(|(label, _)| label))
    })
}

/// The labels of `[label]: target`.
pub(crate) fn defined(text: &str) -> impl Iterator<Item = &str> {
    prose(text).filter_map(|line| {
        let (label, _) = line.strip_prefix('[')?.split_once("]: ")?;
        Some(label)
    })
}

/// The targets of all `[label]: target`.
pub(crate) fn definitions(text: &str) -> impl Iterator<Item = &str> {
    prose(text).filter_map(|line| {
        let (label, target) = line.strip_prefix('[')?.split_once("]: ")?;
        (!label.starts_with('^')).then_some(target)
    })
}

/// The headings, as links name them.
pub(crate) fn anchors(text: &str) -> impl Iterator<Item = String> {
    prose(text).filter_map(|line| {
        let heading = line.trim_start_matches('#').strip_prefix(' ')?;
        line.starts_with('#').then(|| {
            let kept = heading.chars().filter_map(|letter| match letter {
                ' ' => Some('-'),
                '-' | '_' => Some(letter),
                _ if letter.is_alphanumeric() => Some(letter.to_ascii_lowercase()),
                _ => None,
            });
            kept.collect()
        })
    })
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The mutations of an operator.

use syn::BinOp;

/// The form in which an expression with an operator has to be written, so that each operand is
/// evaluated once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Of references to both operands.
    Comparison,
    /// Of values.
    Arithmetic,
    /// The second operand may not be evaluated at all.
    Logic,
    /// Of a place.
    Assignment,
}

pub(crate) fn kind(operator: &BinOp) -> Kind {
    match operator {
        BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
            Kind::Comparison
        }
        BinOp::And(_) | BinOp::Or(_) => Kind::Logic,
        BinOp::Add(_)
        | BinOp::Sub(_)
        | BinOp::Mul(_)
        | BinOp::Div(_)
        | BinOp::Rem(_)
        | BinOp::BitXor(_)
        | BinOp::BitAnd(_)
        | BinOp::BitOr(_)
        | BinOp::Shl(_)
        | BinOp::Shr(_) => Kind::Arithmetic,
        _ => Kind::Assignment,
    }
}

/// The operators that stand in its place, each in a mutant.
pub(crate) fn instead(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["==", ">", "<="],
        BinOp::Gt(_) => &["==", "<", ">="],
        BinOp::Le(_) => &[">"],
        BinOp::Ge(_) => &["<"],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) | BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["%", "*"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) | BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["%=", "*="],
        BinOp::RemAssign(_) => &["/=", "+="],
        BinOp::BitXorAssign(_) => &["|=", "&="],
        BinOp::BitAndAssign(_) => &["|=", "^="],
        BinOp::BitOrAssign(_) => &["&=", "^="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        _ => &[],
    }
}

/// An operator by its text.
pub(crate) fn parsed(text: &str) -> BinOp {
    syn::parse_str(text).expect("an operator")
}

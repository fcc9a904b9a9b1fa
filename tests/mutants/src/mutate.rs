// SPDX-License-Identifier: MIT OR Apache-2.0
//! Goes through the files, and writes each mutant beside what it changes.

use std::collections::HashSet;
use std::mem::replace;

use proc_macro2::Span;
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Arm, Attribute, Block, Expr, ExprBinary, ExprUnary, File, ImplItemConst, ImplItemFn, ItemConst,
    ItemFn, ItemImpl, ItemMod, ItemStatic, Pat, Signature, TraitItemConst, TraitItemFn, Type, UnOp,
    parse_quote,
};

use crate::operators::{Kind, instead, kind, parsed};
use crate::values::values;

pub(crate) struct Mutate {
    /// One line for each mutant.
    pub(crate) list: Vec<String>,
    number: u32,
    /// `true` if the function may run while compiling.
    is_const: bool,
    skipped: HashSet<u32>,
    file: String,
    within: Vec<String>,
}

/// Returns whether it is left out of the build, as it is for processors with 32-bit pointers, or only for
/// tests.
fn is_left_out(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| {
        let text = it.to_token_stream().to_string();
        let is_elsewhere = text.contains("test") || text.contains("not (target_pointer_width");
        it.path().is_ident("cfg") && is_elsewhere || it.path().is_ident("mutants")
    })
}

fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(it) => has_let(&it.left) || has_let(&it.right),
        Expr::Paren(it) => has_let(&it.expr),
        _ => false,
    }
}

impl Mutate {
    pub(crate) fn new(skipped: HashSet<u32>) -> Self {
        Self {
            list: Vec::new(),
            number: 0,
            is_const: false,
            skipped,
            file: String::new(),
            within: Vec::new(),
        }
    }

    pub(crate) fn file(&mut self, name: &str, file: &mut File) {
        name.clone_into(&mut self.file);
        self.visit_file_mut(file);
    }

    /// The question whether this mutant is asked for, unless it is skipped.
    fn asks(&mut self, at: Span, what: &str) -> Option<Expr> {
        self.number += 1;
        let (number, at) = (self.number, at.start());
        if self.skipped.contains(&number) {
            return None;
        }
        let (file, within) = (&self.file, self.within.join("::"));
        let column = at.column + 1;
        let mark = if self.is_const { "+" } else { "" };
        self.list.push(format!(
            "{mark}{number} {file}:{}:{column}: {what} in {within}",
            at.line
        ));
        Some(parse_quote!(crate::mutant_of_this_run::is(#number)))
    }

    fn function(&mut self, attributes: &[Attribute], signature: &Signature, body: &mut Block) {
        if is_left_out(attributes) {
            return;
        }
        let around = replace(&mut self.is_const, signature.constness.is_some());
        self.within.push(signature.ident.to_string());
        let (at, before) = (body.span(), body.to_token_stream().to_string());
        self.visit_block_mut(body);
        let mut first = Vec::new();
        for value in values(&signature.output) {
            // That is what it does already.
            if before == "{ }" || before == format!("{{ {value} }}") {
                continue;
            }
            let what = format!("return {value}");
            if let Some(asks) = self.asks(at, &what) {
                let value: Expr = syn::parse_str(&value).expect("an expression");
                first.push(parse_quote!(if #asks { return #value; }));
            }
        }
        body.stmts.splice(0..0, first);
        self.within.pop();
        self.is_const = around;
    }

    fn binary(&mut self, it: &ExprBinary) -> Option<Expr> {
        let (left, right, operator) = (&it.left, &it.right, &it.op);
        let kind = kind(operator);
        if has_let(left) || has_let(right) {
            return None;
        }
        let mut arms = Vec::new();
        for text in instead(operator) {
            let what = format!("{text} for {}", operator.to_token_stream());
            if let Some(asks) = self.asks(operator.span(), &what) {
                arms.push((asks, parsed(text)));
            }
        }
        if arms.is_empty() {
            return None;
        }
        let (left_of, right_of): (Expr, Expr) = match kind {
            Kind::Comparison => (parse_quote!(*of_mutant.0), parse_quote!(*of_mutant.1)),
            Kind::Arithmetic => (parse_quote!(of_mutant.0), parse_quote!(of_mutant.1)),
            Kind::Logic => (parse_quote!((#left)), parse_quote!((#right))),
            Kind::Assignment => (parse_quote!(#left), parse_quote!(of_mutant)),
        };
        let ifs = arms
            .iter()
            .map(|(asks, other)| quote!(if #asks { #left_of #other #right_of } else));
        let chain = quote!(#(#ifs)* { #left_of #operator #right_of });
        Some(match kind {
            Kind::Comparison => parse_quote!({ let of_mutant = (&(#left), &(#right)); #chain }),
            Kind::Arithmetic => parse_quote!({ let of_mutant = (#left, #right); #chain }),
            Kind::Logic => parse_quote!({ #chain }),
            Kind::Assignment => parse_quote!({ let of_mutant = #right; #chain }),
        })
    }

    fn unary(&mut self, it: &ExprUnary) -> Option<Expr> {
        if matches!(it.op, UnOp::Deref(_)) || has_let(&it.expr) {
            return None;
        }
        // A number below zero stays one.
        if matches!((&it.op, &*it.expr), (UnOp::Neg(_), Expr::Lit(_))) {
            return None;
        }
        let (operator, inner) = (&it.op, &it.expr);
        let what = format!("delete {}", operator.to_token_stream());
        let asks = self.asks(it.span(), &what)?;
        Some(parse_quote!({
            let of_mutant = #inner;
            if #asks { of_mutant } else { #operator of_mutant }
        }))
    }

    fn arms(&mut self, arms: &mut [Arm]) {
        let is_rest =
            |arm: &Arm| arm.guard.is_none() && matches!(arm.pat, Pat::Wild(_) | Pat::Ident(_));
        let has_rest = arms
            .iter()
            .any(|arm| matches!(arm.pat, Pat::Wild(_)) && is_rest(arm));
        for arm in arms {
            let at = arm.pat.span();
            let text = arm.pat.to_token_stream().to_string();
            if let Some((token, guard)) = &mut arm.guard {
                if !has_let(guard) {
                    for (what, value) in [("true", true), ("false", false)] {
                        let what = format!("guard {what} of {text}");
                        if let Some(asks) = self.asks(token.span, &what) {
                            **guard = if value {
                                parse_quote!(#asks || (#guard))
                            } else {
                                parse_quote!(!#asks && (#guard))
                            };
                        }
                    }
                }
            } else if has_rest && !is_rest(arm) {
                if let Some(asks) = self.asks(at, &format!("delete arm {text}")) {
                    arm.guard = Some((parse_quote!(if), parse_quote!(!#asks)));
                }
            }
        }
    }
}

impl VisitMut for Mutate {
    fn visit_item_mod_mut(&mut self, it: &mut ItemMod) {
        if !is_left_out(&it.attrs) {
            visit_mut::visit_item_mod_mut(self, it);
        }
    }

    fn visit_item_impl_mut(&mut self, it: &mut ItemImpl) {
        if is_left_out(&it.attrs) {
            return;
        }
        let of = it.self_ty.to_token_stream().to_string();
        self.within
            .push(of.split(' ').next().unwrap_or("").to_owned());
        visit_mut::visit_item_impl_mut(self, it);
        self.within.pop();
    }

    fn visit_item_fn_mut(&mut self, it: &mut ItemFn) {
        self.function(&it.attrs, &it.sig, &mut it.block);
    }

    fn visit_impl_item_fn_mut(&mut self, it: &mut ImplItemFn) {
        self.function(&it.attrs, &it.sig, &mut it.block);
    }

    fn visit_trait_item_fn_mut(&mut self, it: &mut TraitItemFn) {
        if let Some(body) = &mut it.default {
            self.function(&it.attrs, &it.sig, body);
        }
    }

    // Evaluated while compiling.
    fn visit_item_const_mut(&mut self, _: &mut ItemConst) {}
    fn visit_item_static_mut(&mut self, _: &mut ItemStatic) {}
    fn visit_impl_item_const_mut(&mut self, _: &mut ImplItemConst) {}
    fn visit_trait_item_const_mut(&mut self, _: &mut TraitItemConst) {}
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_pat_mut(&mut self, _: &mut Pat) {}
    fn visit_attribute_mut(&mut self, _: &mut Attribute) {}
    fn visit_generic_argument_mut(&mut self, _: &mut syn::GenericArgument) {}

    fn visit_expr_mut(&mut self, it: &mut Expr) {
        if matches!(it, Expr::Const(_)) {
            return;
        }
        if let Expr::Repeat(repeat) = it {
            return self.visit_expr_mut(&mut repeat.expr);
        }
        visit_mut::visit_expr_mut(self, it);
        let changed = match it {
            Expr::Binary(binary) => self.binary(binary),
            Expr::Unary(unary) => self.unary(unary),
            Expr::Match(all) => {
                self.arms(&mut all.arms);
                None
            }
            _ => None,
        };
        if let Some(changed) = changed {
            drop(replace(it, changed));
        }
    }
}

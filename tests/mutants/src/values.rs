// SPDX-License-Identifier: MIT OR Apache-2.0
//! The values that a function returns at once instead, by its type. Some do not compile; those are
//! skipped.

use quote::ToTokens;
use syn::{GenericArgument, PathArguments, ReturnType, Type};

pub(crate) fn values(returned: &ReturnType) -> Vec<String> {
    match returned {
        ReturnType::Default => vec!["()".to_owned()],
        ReturnType::Type(_, of) => of_type(of),
    }
}

fn of_type(of: &Type) -> Vec<String> {
    let owned = |values: &[&str]| values.iter().map(ToString::to_string).collect();
    match of {
        Type::Tuple(tuple) if tuple.elems.is_empty() => owned(&["()"]),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else {
                return Vec::new();
            };
            let inner = || match &last.arguments {
                PathArguments::AngleBracketed(all) => all.args.iter().find_map(|it| match it {
                    GenericArgument::Type(of) => Some(of_type(of)),
                    _ => None,
                }),
                _ => None,
            };
            match &*last.ident.to_string() {
                "bool" => owned(&["true", "false"]),
                "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => owned(&["0", "1"]),
                "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => owned(&["0", "1", "-1"]),
                "f32" | "f64" => owned(&["0.0", "1.0", "-1.0"]),
                "String" => owned(&["String::new()", "\"xyzzy\".into()"]),
                "Option" => {
                    let some = inner().unwrap_or_default();
                    let some = some.into_iter().map(|value| format!("Some({value})"));
                    ["None".to_owned()].into_iter().chain(some).collect()
                }
                "Result" => {
                    let values = inner().unwrap_or_else(|| owned(&["()"]));
                    values
                        .into_iter()
                        .map(|value| format!("Ok({value})"))
                        .collect()
                }
                "Vec" => owned(&["::std::vec::Vec::new()"]),
                "Self" | "Infallible" => Vec::new(),
                _ => owned(&["Default::default()"]),
            }
        }
        Type::Reference(reference) => match &*reference.elem.to_token_stream().to_string() {
            "str" => owned(&["\"\"", "\"xyzzy\""]),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

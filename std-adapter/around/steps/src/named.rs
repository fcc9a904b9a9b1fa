// SPDX-License-Identifier: MIT OR Apache-2.0
//! Enums whose values have names: in databases, metrics and messages.

/// Lists the values once, for the enum, [`ALL`](crate::Status::ALL) and [`name`](crate::Status::name).
macro_rules! named {
    ($(#[$of_type:meta])* pub enum $type:ident { $($(#[$of_value:meta])* $value:ident = $name:literal,)* }) => {
        $(#[$of_type])*
        pub enum $type { $($(#[$of_value])* $value,)* }

        impl $type {
            /// All of them, in order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$value),*];

            /// The name in lower case.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $name,)* }
            }
        }
    };
}

pub(super) use named;

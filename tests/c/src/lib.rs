// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the header, through a C compiler: see `through.c`.
//! Nothing is here, so that the tests link what `build.rs` compiles.

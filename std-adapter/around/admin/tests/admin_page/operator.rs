// SPDX-License-Identifier: MIT OR Apache-2.0
//! The acts of operators, in any tab.

use crate::browser::{Browser, TAB};

/// Presses the button of a row, which opens this dialog.
pub(crate) fn manage(browser: &Browser, row: &str, dialog: &str) {
    browser.wait_for(row);
    browser.run(&format!(
        "{row}.querySelector('button').scrollIntoView({{ block: 'center' }});"
    ));
    let index = browser.run(&format!("return {row}.rowIndex;"));
    let body = browser.text(&format!("{row}.parentElement.id"));
    browser.click(&format!("#{body} tr:nth-child({index}) button"));
    browser.wait_for(&format!("$({dialog:?}).open"));
}

/// By the keyboard alone: how often the key was pressed.
pub(crate) fn tab_to(browser: &Browser, wanted: &str) -> usize {
    for presses in 1..60 {
        browser.keys(TAB);
        if browser.focused() == wanted {
            return presses;
        }
    }
    panic!("no way by the tab key to {wanted:?}");
}

/// Roles and names of the controls that are shown within something: each has a name.
pub(crate) fn controls(browser: &Browser, within: &str) -> Vec<(String, String)> {
    let mut names = Vec::new();
    let controls = ":is(button, input, select, textarea, table, [tabindex='0'])";
    let shown = ":not([hidden], [hidden] *)";
    for element in browser.all(&format!("{within} {controls}{shown}")) {
        let (name, role) = (browser.name(&element), browser.role(&element));
        let markup = browser.markup(&element);
        assert!(!name.trim().is_empty(), "{role} without a name: {markup}");
        names.push((role, name));
    }
    names
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bare drivers: a thousand right measurements of each model that is well, what is returned of one that is ill, and
//! right measurements again after the repair.

use std::collections::BTreeSet;

use zoo::condition::Ill;
use zoo::run::Seen::{self, Error, Nothing, Panic, Right, Wrong, WrongAndPlausible};
use zoo::zoo::animals;

/// Checks one driver, ill in each way.
fn check(name: &str, expected: [&[Seen]; 3]) {
    let animals = animals();
    let mut animals = animals.iter();
    let animal = animals.find(|it| it.name.starts_with(name)).unwrap();
    let well = animal.well();
    assert_eq!(well.into_iter().collect::<Vec<_>>(), [(Right, 1_000)]);
    for (ill, expected) in Ill::ALL.into_iter().zip(expected) {
        let [before, after] = animal.ill(ill);
        let seen: BTreeSet<_> = before.keys().copied().collect();
        let expected: BTreeSet<_> = expected.iter().copied().collect();
        assert_eq!(seen, expected, "{ill:?}: {before:?}");
        assert_eq!(
            after.into_iter().collect::<Vec<_>>(),
            [(Right, 20)],
            "{ill:?}"
        );
    }
}

/// For each driver: what it returns when the device is silent, when it is mute, when it answers rubbish.
macro_rules! bare {
    ($($test:ident $name:literal $silent:expr, $mute:expr, $rubbish:expr;)*) => {
        $(
            #[test]
            fn $test() {
                check($name, [&$silent, &$mute, &$rubbish]);
            }
        )*

        #[test]
        fn no_driver_is_left_out() {
            let names = [$($name),*];
            let animals = animals();
            assert!(animals.len() >= 14, "{}", animals.len());
            for animal in &animals {
                let is_named = names.iter().any(|name| animal.name.starts_with(name));
                assert!(is_named, "{animal:?}");
            }
        }
    };
}

bare! {
    sht4x "sht4x" [Error], [Error], [Error];
    scd4x "scd4x" [Error], [Nothing], [Error];
    bme280 "bme280" [Error], [Wrong], [Wrong];
    ads1x1x "ads1x1x" [Error], [Nothing], [Wrong];
    ds323x "ds323x" [Error], [Wrong], [Error];
    at24cx "at24cx" [Error], [Wrong], [Wrong];
    ssd1306 "ssd1306" [Error], [WrongAndPlausible], [WrongAndPlausible];
    ili9341 "ili9341" [WrongAndPlausible], [WrongAndPlausible], [WrongAndPlausible];
    embedded_sdmmc "embedded-sdmmc" [Error], [Error], [Error];
    sequential_storage "sequential-storage" [Nothing], [Error], [Error, Panic];
    mcp25xx "mcp25xx" [Nothing], [Nothing], [Wrong];
    w5500_hl "w5500-hl" [Error], [Nothing], [Wrong];
    lora_phy "lora-phy" [Nothing], [Nothing], [Error];
    atat "atat" [Error], [Error], [Error];
    rust_mqtt "rust-mqtt" [Nothing], [Nothing], [Error];
}

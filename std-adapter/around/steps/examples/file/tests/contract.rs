// SPDX-License-Identifier: MIT OR Apache-2.0
//! The test that every store must pass.

use atomic_breaker_steps::contract;
use file_store_example::FileStore;

#[tokio::test]
async fn the_store_keeps_what_stores_promise() {
    let folder = std::env::temp_dir().join(format!("atomic-breaker-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut count = 0;
    contract::check(async || {
        count += 1;
        FileStore::new(folder.join(format!("{count}.json")))
    })
    .await;
    std::fs::remove_dir_all(folder).unwrap();
}

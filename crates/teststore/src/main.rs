//! The server as a program, for tests that are not written in Rust: it prints its address and keys
//! as one line of JSON, and stops when its standard input ends.

use std::io::{self, Read as _};

use plinth_teststore::{ACCESS_KEY, BUCKET, SECRET_KEY, TestStore};

#[tokio::main]
async fn main() -> io::Result<()> {
    let store = TestStore::start().await?;
    let url = store.url();
    println!(
        r#"{{"endpoint":"{url}","bucket":"{BUCKET}","accessKey":"{ACCESS_KEY}","secretKey":"{SECRET_KEY}"}}"#
    );
    let until_eof = || io::stdin().read_to_end(&mut Vec::new());
    tokio::task::spawn_blocking(until_eof).await??;
    Ok(())
}

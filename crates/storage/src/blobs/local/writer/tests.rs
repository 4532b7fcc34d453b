use std::{fs, time::Instant};

use super::*;
use crate::blobs::{LocalBlobs, Version};

/// Bytes that are nowhere alike.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

async fn check(sent: &[u8], frames: impl IntoIterator<Item = usize>) {
    let folder = tempfile::tempdir().expect("a folder");
    let blobs = LocalBlobs::new(folder.path().to_owned(), false);
    let version = Version::generate();
    let mut writer = blobs.create(&version);
    let mut left = Bytes::copy_from_slice(sent);
    for frame in frames {
        let frame = left.split_to(frame.min(left.len()));
        writer.write(frame).await.expect("taken");
    }
    writer.write(left).await.expect("taken");
    let written = writer.finish().await.expect("finished");

    let digest = hex(&Md5::digest(sent));
    assert_eq!((written.size, written.md5), (sent.len() as u64, digest));
    assert!(fs::read(blobs.path(&version)).expect("a file") == sent);
    assert!(!blobs.temporary(&version).exists());
}

#[tokio::test]
async fn what_comes_in_frames_of_any_length_is_written_and_digested_in_order() {
    let sent = noise(BLOCK_BYTES * 20 + 7);
    check(&[], []).await;
    check(&sent[..1], [0, 1, 0]).await;
    check(&sent[..BLOCK_BYTES], []).await;
    check(&sent, []).await;
    check(&sent, std::iter::repeat_n(BLOCK_BYTES / 3, 30)).await;
    check(
        &sent,
        (0..).map(|at| at * 37 % (3 * SMALL_FRAME_BYTES)).take(300),
    )
    .await;
    check(
        &sent,
        [
            1,
            MAX_QUEUED_BYTES + 1,
            0,
            SMALL_FRAME_BYTES,
            SMALL_FRAME_BYTES - 1,
            1,
            2 * MAX_QUEUED_BYTES,
        ],
    )
    .await;
}

#[tokio::test]
async fn an_unfinished_file_is_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let blobs = LocalBlobs::new(folder.path().to_owned(), false);
    let version = Version::generate();
    let mut writer = blobs.create(&version);
    writer
        .write(noise(BLOCK_BYTES).into())
        .await
        .expect("taken");
    drop(writer);

    let left = || {
        let entries = fs::read_dir(folder.path().join("tmp"));
        entries.map_or(0, Iterator::count)
    };
    let begun = Instant::now();
    while left() > 0 && begun.elapsed().as_secs() < 10 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(left(), 0);
}

#[tokio::test]
async fn a_folder_that_takes_nothing_is_noticed_while_bytes_come() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("a file where a folder should be");
    fs::write(&root, "").expect("a file");
    let blobs = LocalBlobs::new(root, false);
    let mut writer = blobs.create(&Version::generate());
    let frame = Bytes::from(noise(BLOCK_BYTES));
    for _ in 0..MAX_QUEUED_BYTES / BLOCK_BYTES + 2 {
        if writer.write(frame.clone()).await.is_err() {
            return;
        }
    }
    panic!("the writer has not noticed");
}

/// How near the writer comes to the digest of its bytes, which nothing can be faster than. For a
/// look at a release build: `cargo test --release -p plinth-storage -- --ignored as_fast`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures"]
async fn bytes_are_stored_about_as_fast_as_they_can_be_digested() {
    const SIZE: usize = 1 << 30;
    let frame = Bytes::from(noise(MAX_QUEUED_BYTES / 4));
    let frames = SIZE / frame.len();
    let begun = Instant::now();
    let mut md5 = Md5::new();
    (0..frames).for_each(|_| md5.update(&frame));
    let digest = hex(&md5.finalize());
    let alone = begun.elapsed().as_secs_f64();

    for syncs in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let blobs = LocalBlobs::new(folder.path().to_owned(), syncs);
        let begun = Instant::now();
        let mut writer = blobs.create(&Version::generate());
        for _ in 0..frames {
            // As much work as taking them from a socket.
            let frame = Bytes::copy_from_slice(&frame);
            writer.write(frame).await.expect("taken");
        }
        let written = writer.finish().await.expect("finished");
        let taken = begun.elapsed().as_secs_f64();
        assert_eq!(written.md5, digest);
        println!(
            "syncs: {syncs}: {:.0} MB/s, {:.0} % of the digest alone",
            SIZE as f64 / taken / 1e6,
            alone / taken * 100.0
        );
    }
}

//! Clients that do not read, on a clock that stands still until nothing else can go on.

use rmcp::model::{EmptyResult, JsonRpcMessage, NumberOrString, ServerResult};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    time::timeout,
};

use super::{super::stdio::Lines, *};

const REQUEST: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";

/// Lets everything that can go on go on. There is no clock and no network in these tests.
async fn settle() {
    for _ in 0..2000 {
        tokio::task::yield_now().await;
    }
}

fn answer() -> TxJsonRpcMessage<RoleServer> {
    let result = ServerResult::EmptyResult(EmptyResult {});
    JsonRpcMessage::response(result, NumberOrString::Number(1))
}

/// A transport with as many unread answers as may be, and the two ends of its client.
async fn full() -> (Bounded<impl Transport<RoleServer>>, DuplexStream, DuplexStream, End) {
    let (requests, input) = duplex(1 << 20);
    let (answers, output) = duplex(16);
    let (lines, end) = Lines::new(input, output);
    let mut bounded = Bounded::new(lines, end.clone());
    for _ in 0..=UNREAD {
        tokio::spawn(bounded.send(answer()));
    }
    settle().await;
    (bounded, requests, answers, end)
}

#[tokio::test]
async fn requests_of_a_client_that_does_not_read_wait_until_it_reads() {
    let (mut transport, mut requests, mut answers, end) = full().await;
    requests.write_all(REQUEST).await.unwrap();
    {
        let next = transport.receive();
        tokio::pin!(next);
        for _ in 0..100 {
            settle().await;
            let taken = futures_util::poll!(&mut next);
            assert!(taken.is_pending(), "taken up although nothing is read");
        }
    }
    tokio::spawn(async move {
        let mut bytes = [0; 4096];
        while answers.read(&mut bytes).await.is_ok_and(|n| n > 0) {}
    });
    assert!(transport.receive().await.is_some());
    assert!(!end.eof.is_cancelled());
}

#[tokio::test]
async fn the_end_of_input_is_seen_though_nothing_is_read() {
    let (mut transport, mut requests, _answers, end) = full().await;
    for id in 0..HELD / 2 {
        let request = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n");
        requests.write_all(request.as_bytes()).await.unwrap();
    }
    drop(requests);
    let last = timeout(PATIENCE / 2, transport.receive()).await;
    assert!(last.expect("the end is seen").is_none());
    assert!(end.eof.is_cancelled() && !end.unread.is_cancelled());
}

fn request(id: usize) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n")
}

/// How many messages come without waiting.
async fn taken(transport: &mut impl Transport<RoleServer>) -> usize {
    let mut n_taken = 0;
    loop {
        let next = transport.receive();
        tokio::pin!(next);
        let mut has_come = false;
        for _ in 0..20 {
            settle().await;
            has_come = futures_util::poll!(&mut next).is_ready();
            if has_come {
                break;
            }
        }
        if !has_come {
            return n_taken;
        }
        n_taken += 1;
    }
}

#[tokio::test]
async fn no_more_requests_are_taken_up_than_can_be_worked_on() {
    let (mut requests, input) = duplex(1 << 20);
    let (_answers, output) = duplex(1 << 20);
    let (lines, end) = Lines::new(input, output);
    let mut transport = Bounded::new(lines, end);
    for id in 0..2 * AT_WORK {
        requests.write_all(request(id).as_bytes()).await.unwrap();
    }
    assert_eq!(taken(&mut transport).await, AT_WORK);
    // An answer makes room for one more, and so does giving up; what was given up while it waited is not taken up.
    let result = ServerResult::EmptyResult(EmptyResult {});
    let done = JsonRpcMessage::response(result, NumberOrString::Number(0));
    transport.send(done).await.unwrap();
    for id in [AT_WORK + 1, 1] {
        let gone = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}\n"
        );
        requests.write_all(gone.as_bytes()).await.unwrap();
    }
    // Two requests and the two notifications.
    assert_eq!(taken(&mut transport).await, 4);
    let waits = |(held, _): &Held| matches!(held, JsonRpcMessage::Request(held) if held.id == NumberOrString::Number(i64::try_from(AT_WORK).unwrap() + 1));
    assert!(!transport.held.iter().any(waits));
}

/// What comes of a client that sends so many requests, all of this length, and reads nothing for an hour; and after
/// how many seconds.
async fn unread(n_requests: usize, length: usize) -> (bool, u64) {
    let (mut transport, mut requests, _answers, end) = full().await;
    tokio::spawn(async move {
        for id in 0..n_requests {
            let line = request(id).replace("list\"", &format!("list{}\"", "x".repeat(length)));
            requests.write_all(line.as_bytes()).await.unwrap();
        }
        std::future::pending::<()>().await;
    });
    let began = Instant::now();
    let over = timeout(Duration::from_secs(3600), transport.receive()).await;
    assert!(transport.n_held_bytes < HELD_BYTES + length + 100);
    let is_gone = over.is_ok_and(|message| message.is_none());
    assert_eq!((end.unread.is_cancelled(), end.eof.is_cancelled()), (is_gone, is_gone));
    (is_gone, began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_more_than_is_held_and_reads_nothing_for_a_minute_is_gone() {
    assert_eq!(unread(HELD, 0).await, (true, 60));
    assert_eq!(unread(100, 1 << 20).await, (true, 60), "few of them, which are large");
    // Whoever only waits may wait.
    assert_eq!(unread(HELD - 1, 0).await, (false, 3600));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_now_and_then_is_not_gone() {
    let (mut transport, mut requests, mut answers, end) = full().await;
    for id in 0..=HELD {
        requests.write_all(request(id).as_bytes()).await.unwrap();
    }
    let line = serde_json::to_vec(&answer()).unwrap().len() + 1;
    for _ in 0..5 {
        let waiting = timeout(Duration::from_secs(59), transport.receive()).await;
        assert!(waiting.is_err() && !end.eof.is_cancelled(), "it is waited for");
        // One answer is read, and another one comes.
        let mut bytes = vec![0; line];
        answers.read_exact(&mut bytes).await.unwrap();
        tokio::spawn(transport.send(answer()));
        tokio::spawn(transport.send(answer()));
        settle().await;
    }
    let over = timeout(Duration::from_secs(61), transport.receive()).await;
    assert!(over.is_ok_and(|message| message.is_none()) && end.unread.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_no_messages_and_reads_no_complaint_for_a_minute_is_gone() {
    let (mut requests, input) = duplex(1 << 20);
    let (_answers, output) = duplex(16);
    let (mut lines, end) = Lines::new(input, output);
    tokio::spawn(async move {
        let line = [b"nothing".repeat(1000), b"\n".to_vec()].concat();
        while requests.write_all(&line).await.is_ok() {}
    });
    let began = Instant::now();
    assert!(lines.receive().await.is_none());
    assert_eq!((began.elapsed().as_secs(), end.unread.is_cancelled()), (60, true));
}

/// Each of these is refused, since its id is in use, and nobody reads that.
#[tokio::test]
async fn the_end_of_input_is_seen_though_no_complaint_is_read() {
    let (mut transport, mut requests, _answers, end) = full().await;
    requests.write_all(&REQUEST.repeat(HELD / 2)).await.unwrap();
    drop(requests);
    let last = timeout(PATIENCE / 2, transport.receive()).await;
    assert!(last.expect("the end is seen").is_none());
    assert!(end.eof.is_cancelled() && !end.unread.is_cancelled());
}

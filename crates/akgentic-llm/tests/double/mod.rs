//! A provider on this machine that answers as it is told, and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// What the provider was asked.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// How it answers.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Says nothing any more, until the other side is gone.
    Hang,
    /// Closes the connection.
    Close,
}

/// An answer, step by step.
pub(crate) type Reply = Vec<Step>;

type Script = dyn Fn(usize, &Seen) -> Reply + Send + Sync;

/// The provider; it ends when it is dropped.
pub(crate) struct Double {
    pub address: SocketAddr,
    state: Arc<State>,
    /// Connections that were given up by the other side in the middle of an answer.
    pub given_up: watch::Receiver<usize>,
    /// Requests that have come.
    pub asked: watch::Receiver<usize>,
    task: JoinHandle<()>,
}

struct State {
    seen: Mutex<Vec<Seen>>,
    script: Box<Script>,
    given_up: watch::Sender<usize>,
    asked: watch::Sender<usize>,
}

impl Double {
    /// Starts it; `script` is given the number of each request, from 0.
    pub(crate) async fn start(
        script: impl Fn(usize, &Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (gone, given_up) = watch::channel(0);
        let (count, asked) = watch::channel(0);
        let state = Arc::new(State {
            seen: Mutex::default(),
            script: Box::new(script),
            given_up: gone,
            asked: count,
        });
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self { address, state, given_up, asked, task }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    /// Variables that lead every provider here.
    pub(crate) fn variable(address: SocketAddr, name: &str) -> Option<String> {
        Some(match name {
            "ANTHROPIC_BASE_URL" | "AZURE_OPENAI_ENDPOINT" => format!("http://{address}"),
            "OPENROUTER_BASE_URL" => format!("http://{address}/api/v1"),
            "OPENAI_API_VERSION" => "2025-04-01-preview".to_owned(),
            name if name.ends_with("_BASE_URL") => format!("http://{address}/v1"),
            "GITHUB_TOKEN" => "sk-test".to_owned(),
            name if name.ends_with("_KEY") || name.starts_with("AWS_BEARER") => {
                "sk-test".to_owned()
            }
            _ => return None,
        })
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

async fn serve(mut stream: TcpStream, state: Arc<State>) {
    let mut buffer = Vec::new();
    while let Some(seen) = receive(&mut stream, &mut buffer).await {
        let number = {
            let mut all = state.seen.lock().unwrap();
            all.push(seen.clone());
            all.len() - 1
        };
        let reply = (state.script)(number, &seen);
        state.asked.send_modify(|asked| *asked += 1);
        for step in reply {
            match step {
                Step::Send(bytes) => {
                    if stream.write_all(&bytes).await.is_err() || stream.flush().await.is_err() {
                        state.given_up.send_modify(|gone| *gone += 1);
                        return;
                    }
                    // pieces are to arrive as pieces
                    tokio::task::yield_now().await;
                }
                Step::Hang => {
                    let mut byte = [0];
                    while matches!(stream.read(&mut byte).await, Ok(read) if read > 0) {}
                    state.given_up.send_modify(|gone| *gone += 1);
                    return;
                }
                Step::Close => return,
            }
        }
    }
}

async fn receive(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Seen> {
    let head = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = buffer.drain(..end + 4).collect::<Vec<u8>>();
            break String::from_utf8(head).unwrap();
        }
        if stream.read_buf(buffer).await.unwrap_or(0) == 0 {
            return None;
        }
    };
    let mut lines = head.lines();
    let target = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, length)| length.parse().unwrap());
    while buffer.len() < length {
        if stream.read_buf(buffer).await.unwrap_or(0) == 0 {
            return None;
        }
    }
    let body = buffer.drain(..length).collect();
    Some(Seen { target, headers, body })
}

/// An answer in one piece.
pub(crate) fn answer(status: u16, kind: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    vec![Step::Send(format!("{head}{body}").into_bytes())]
}

pub(crate) fn json_answer(status: u16, body: &Value) -> Reply {
    answer(status, "application/json", "", &body.to_string())
}

/// Events, one piece for each text, without a known length.
pub(crate) fn events(pieces: &[&str]) -> Reply {
    let head =
        "HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut reply = vec![Step::Send(head.as_bytes().to_vec())];
    for piece in pieces {
        reply.push(Step::Send(format!("{:x}\r\n{piece}\r\n", piece.len()).into_bytes()));
    }
    reply.push(Step::Send(b"0\r\n\r\n".to_vec()));
    reply
}

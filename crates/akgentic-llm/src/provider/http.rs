//! Requests over HTTP: one client for all models with the same limits.

use std::error::Error as _;
use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::endpoint::AuthHeader;
use crate::retry::{Answer, TransportFailure};

/// Connections at a time; further requests wait for their turn.
const CONNECTIONS: usize = 100;

/// How long a connection nobody uses is kept.
const IDLE: Duration = Duration::from_mins(1);

/// How long a reply may be.
pub(super) const LONGEST_REPLY: usize = 64 * 1024 * 1024;

/// How much of a failure's body is read.
const LONGEST_FAILURE: usize = 64 * 1024;

/// A request goes out in pieces of this size, so that one that does not move is noticed.
const PIECE: usize = 64 * 1024;

/// Sends requests; made when it is first used, since that reads certificates.
pub(super) struct HttpClient {
    client: OnceLock<Result<reqwest::Client, String>>,
    connections: Arc<Semaphore>,
    limit: Duration,
}

/// A request.
pub(super) struct Call {
    pub url: String,
    pub auth: AuthHeader,
    pub headers: &'static [(&'static str, &'static str)],
    pub body: Bytes,
}

/// An answer with its body, or with the rest of it still to come.
pub(super) struct HttpAnswer {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    too_long: bool,
    rest: Option<Rest>,
}

/// The body of an answer as it comes. Dropping it closes the connection.
pub(super) struct Rest {
    response: reqwest::Response,
    limit: Duration,
    read: usize,
    _connection: OwnedSemaphorePermit,
}

/// Why a request came to nothing.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub kind: TransportFailure,
    pub message: String,
}

impl HttpClient {
    /// A client that gives each phase of a request this long.
    pub(super) fn new(limit: Duration) -> Self {
        let connections = Arc::new(Semaphore::new(CONNECTIONS));
        Self { client: OnceLock::new(), connections, limit }
    }

    /// How long each phase may take.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// Sends a request and reads the whole answer.
    pub(super) async fn exchange(&self, call: &Call) -> Result<HttpAnswer, Failure> {
        let mut answer = self.open(call).await?;
        if let Some(mut rest) = answer.rest.take() {
            while let Some(piece) = rest.next().await? {
                answer.body.extend_from_slice(&piece);
                if answer.body.len() > LONGEST_REPLY {
                    answer.too_long = true;
                    break;
                }
            }
        }
        Ok(answer)
    }

    /// Sends a request; the body of a success is still to come, that of a failure is read.
    pub(super) async fn open(&self, call: &Call) -> Result<HttpAnswer, Failure> {
        let connection = self.connection().await?;
        let response = self.send(call).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut rest = Rest { response, limit: self.limit, read: 0, _connection: connection };
        let mut answer =
            HttpAnswer { status, headers, body: Vec::new(), too_long: false, rest: None };
        if answer.is_success() {
            answer.rest = Some(rest);
            return Ok(answer);
        }
        while answer.body.len() < LONGEST_FAILURE
            && let Some(piece) = rest.next().await?
        {
            answer.body.extend_from_slice(&piece);
        }
        answer.body.truncate(LONGEST_FAILURE);
        Ok(answer)
    }

    /// Waits for one of the connections.
    pub(super) async fn connection(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let connection = tokio::time::timeout(self.limit, self.connections.clone().acquire_owned());
        match connection.await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(_)) => Err(Failure::new(TransportFailure::Close, "the client is closed")),
            Err(_) => {
                let text = format!("all {CONNECTIONS} connections are in use");
                Err(Failure::new(TransportFailure::PoolTimeout, text))
            }
        }
    }

    /// The client, for whoever sends by himself.
    pub(super) fn client(&self) -> Result<&reqwest::Client, Failure> {
        let client = self.client.get_or_init(|| build(self.limit));
        client.as_ref().map_err(|message| Failure::new(TransportFailure::LocalProtocol, message))
    }

    async fn send(&self, call: &Call) -> Result<reqwest::Response, Failure> {
        let client = self.client()?;
        let upload = Arc::new(Upload::default());
        let total = call.body.len().div_ceil(PIECE);
        let request = client
            .post(&call.url)
            .headers(headers(call)?)
            .body(in_pieces(call.body.clone(), Arc::clone(&upload)));
        let started = Instant::now();
        let mut answer = std::pin::pin!(request.send());
        loop {
            // what has been sent last begins the time for the next step
            let last = started + upload.last_piece();
            match timeout_at(last + self.limit, &mut answer).await {
                Ok(Ok(response)) => return Ok(response),
                Ok(Err(error)) => return Err(Failure::of(&error)),
                Err(_) if started + upload.last_piece() > last => {}
                Err(_) => {
                    let kind = match upload.pieces.load(Ordering::Relaxed) {
                        0 => TransportFailure::ConnectTimeout,
                        sent if sent < total => TransportFailure::WriteTimeout,
                        _ => TransportFailure::ReadTimeout,
                    };
                    return Err(Failure::new(kind, "no progress within the limit"));
                }
            }
        }
    }
}

/// How far a request has been sent.
struct Upload {
    started: Instant,
    pieces: AtomicUsize,
    /// When the last piece was taken, in milliseconds from the start.
    last: AtomicU64,
}

impl Default for Upload {
    fn default() -> Self {
        Self { started: Instant::now(), pieces: AtomicUsize::new(0), last: AtomicU64::new(0) }
    }
}

impl Upload {
    fn note_piece(&self) {
        self.pieces.fetch_add(1, Ordering::Relaxed);
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(now, Ordering::Relaxed);
    }

    fn last_piece(&self) -> Duration {
        Duration::from_millis(self.last.load(Ordering::Relaxed))
    }
}

fn build(limit: Duration) -> Result<reqwest::Client, String> {
    let tls = tls().map_err(|error| format!("TLS cannot be set up: {error}"))?;
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(limit)
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(CONNECTIONS)
        .redirect(reqwest::redirect::Policy::none())
        // what is read is what was sent, whatever other crates build reqwest with
        .no_gzip()
        .http1_only()
        .user_agent(concat!("akgentic/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| format!("the HTTP client cannot be set up: {error}"))
}

/// TLS with the certificates of the system; without any of them only plain HTTP works.
fn tls() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    match rustls_platform_verifier::Verifier::new(provider) {
        Ok(verifier) => Ok(versions
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth()),
        Err(error) => {
            tracing::warn!(%error, "there are no certificates; servers cannot be trusted");
            let none = rustls::RootCertStore::empty();
            Ok(versions.with_root_certificates(none).with_no_client_auth())
        }
    }
}

fn headers(call: &Call) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(call.body.len()));
    for (name, value) in call.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let mut secret = HeaderValue::from_str(&call.auth.value).map_err(|_| {
        let text = "the key has characters that no header can hold";
        Failure::new(TransportFailure::LocalProtocol, text)
    })?;
    secret.set_sensitive(true);
    headers.insert(HeaderName::from_static(call.auth.name), secret);
    Ok(headers)
}

/// The body, noting when a piece is taken.
fn in_pieces(body: Bytes, upload: Arc<Upload>) -> reqwest::Body {
    let pieces = stream::unfold(body, move |mut left| {
        let upload = Arc::clone(&upload);
        async move {
            if left.is_empty() {
                return None;
            }
            let piece = left.split_to(PIECE.min(left.len()));
            upload.note_piece();
            Some((Ok::<_, std::convert::Infallible>(piece), left))
        }
    });
    reqwest::Body::wrap_stream(pieces)
}

impl Rest {
    /// The next piece of the body; `None` at its end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let piece = match tokio::time::timeout(self.limit, self.response.chunk()).await {
            Ok(Ok(piece)) => piece,
            Ok(Err(error)) => return Err(Failure::of(&error)),
            Err(_) => {
                let text = "the reply stopped coming";
                return Err(Failure::new(TransportFailure::ReadTimeout, text));
            }
        };
        self.read += piece.as_ref().map_or(0, Bytes::len);
        Ok(piece)
    }

    /// Whether more has come than any reply may hold.
    pub(super) fn is_too_long(&self) -> bool {
        self.read > LONGEST_REPLY
    }
}

impl HttpAnswer {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body; `None` when it is longer than any reply may be.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        (!self.too_long).then_some(&self.body)
    }

    pub(super) fn into_rest(self) -> Option<Rest> {
        self.rest
    }
}

impl Answer for HttpAnswer {
    fn status(&self) -> u16 {
        self.status
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    fn body(&self) -> &[u8] {
        &self.body
    }
}

impl fmt::Debug for HttpAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpAnswer({}, {} bytes)", self.status, self.body.len())
    }
}

impl Failure {
    pub(super) fn new(kind: TransportFailure, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(super) fn of(error: &reqwest::Error) -> Self {
        let kind = match (error.is_connect(), error.is_timeout()) {
            (true, true) => TransportFailure::ConnectTimeout,
            (true, false) => TransportFailure::Connect,
            (false, true) => TransportFailure::ReadTimeout,
            (false, false) if error.is_builder() => TransportFailure::LocalProtocol,
            (false, false) if error.is_body() || error.is_decode() => TransportFailure::Read,
            (false, false) => TransportFailure::RemoteProtocol,
        };
        Self::new(kind, reasons(error))
    }
}

/// The error with its causes; the address is known to whoever sent the request.
fn reasons(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&error.to_string());
        cause = error.source();
    }
    if text.is_empty() { error.to_string() } else { text }
}

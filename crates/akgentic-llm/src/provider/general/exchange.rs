//! One request, sent by genai.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use futures_util::stream::StreamExt as _;
use genai::ServiceTarget;
use genai::chat::{ChatFrameSink, ChatOptions, ChatRequest, ChatStream, FrameCtx, RawFrameRef};
use tokio::sync::OwnedSemaphorePermit;
use tracing::dispatcher::{self, Dispatch};

use super::reply::Gathered;
use super::trouble::Trouble;
use crate::config::GeneralLanguage;
use crate::model::StreamEvent;
use crate::provider::http::{HttpClient, LONGEST_REPLY};
use crate::provider::wire::Fault;

/// A request, ready to be sent.
pub(super) struct Question {
    pub target: ServiceTarget,
    pub request: ChatRequest,
    pub options: ChatOptions,
    pub language: GeneralLanguage,
}

/// A reply that comes piece by piece. Dropping it closes the connection.
pub(super) struct Exchange {
    stream: ChatStream,
    counted: Arc<Counter>,
    pub gathered: Gathered,
    _connection: OwnedSemaphorePermit,
}

/// How much of a reply has come.
///
/// genai keeps all of an event until it ends, so one event without an end is bounded by the time
/// of the request only.
#[derive(Debug, Default)]
struct Counter(AtomicUsize);

impl ChatFrameSink for Counter {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        self.0.fetch_add(frame.data.len(), Ordering::Relaxed);
    }
}

impl Exchange {
    /// Begins; whatever comes is asked for as a stream, since only then genai can be followed.
    pub(super) async fn begin(http: &HttpClient, question: &Question) -> Result<Self, Trouble> {
        let connection = http.connection().await.map_err(Trouble::Transport)?;
        let client = http.client().map_err(Trouble::Transport)?.clone();
        let client = genai::Client::builder().with_reqwest(client).build();
        let client = client.map_err(Trouble::of)?;
        let counted = Arc::new(Counter::default());
        let mut options = question.options.clone();
        options.stream_header_timeout = Some(http.limit());
        options.stream_read_timeout = Some(http.limit());
        options.raw_frame_sink = Some(counted.clone());
        let stream = {
            let (target, request) = (question.target.clone(), question.request.clone());
            let mut begun = pin!(client.exec_chat_stream(target, request, Some(&options)));
            std::future::poll_fn(|context| silently(|| begun.as_mut().poll(context))).await
        };
        Ok(Self {
            stream: stream.map_err(Trouble::of)?.stream,
            counted,
            gathered: Gathered::new(question.language),
            _connection: connection,
        })
    }

    /// Waits for the next piece; false at the end.
    pub(super) async fn next(&mut self, news: &mut Vec<StreamEvent>) -> Result<bool, Trouble> {
        let event = std::future::poll_fn(|context| self.poll(context)).await;
        let Some(event) = event else { return Ok(false) };
        self.gathered.take(event?, news).map_err(Trouble::Fault)?;
        Ok(true)
    }

    fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<genai::chat::ChatStreamEvent, Trouble>>> {
        // genai adds up what it is told without looking whether it fits
        let polled = AssertUnwindSafe(|| silently(|| self.stream.poll_next_unpin(context)));
        let Ok(event) = catch_unwind(polled) else {
            let fault = Fault::Unexpected("it cannot be worked with".to_owned());
            return Poll::Ready(Some(Err(Trouble::Fault(fault))));
        };
        if self.counted.0.load(Ordering::Relaxed) > LONGEST_REPLY {
            let fault = Fault::Unexpected("the reply is too long".to_owned());
            return Poll::Ready(Some(Err(Trouble::Fault(fault))));
        }
        event.map(|event| event.map(|event| event.map_err(Trouble::of)))
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Exchange").field(&self.counted).finish()
    }
}

/// genai writes what it is answered to the log, and with it what a provider repeats of a key.
fn silently<T>(work: impl FnOnce() -> T) -> T {
    dispatcher::with_default(&Dispatch::none(), work)
}

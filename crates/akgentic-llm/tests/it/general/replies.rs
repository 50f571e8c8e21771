//! What providers say, in each language the general client knows.

use serde_json::{Value, json};

use crate::double::{Reply, Step, events};

/// What a model says: a thought where the language has a place for it, text, a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    Text,
    Call,
}

fn chat(says: Says) -> Vec<Value> {
    let spoken = |delta: Value| json!({"id": "c", "choices": [{"delta": delta}]});
    let mut all = Vec::new();
    match says {
        Says::Text => {
            all.push(spoken(json!({"reasoning_content": "hm"})));
            all.extend(["Hel", "lo"].map(|text| spoken(json!({"content": text}))));
        }
        Says::Call => {
            all.push(spoken(json!({"tool_calls": [{"index": 0, "id": "t1", "function":
                {"name": "look_here", "arguments": "{\"a\""}}]})));
            all.push(spoken(json!({"tool_calls": [{"index": 0, "function":
                {"arguments": ":1}"}}]})));
        }
    }
    let reason = if says == Says::Call { "tool_calls" } else { "stop" };
    all.push(json!({"choices": [{"delta": {}, "finish_reason": reason}]}));
    all.push(json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 2}}}));
    all
}

fn claude(says: Says) -> Vec<Value> {
    let mut all = vec![json!({"type": "message_start", "message":
        {"usage": {"input_tokens": 3, "output_tokens": 0}}})];
    let mut block = |start: Value, deltas: Vec<Value>| {
        all.push(json!({"type": "content_block_start", "index": 0, "content_block": start}));
        for delta in deltas {
            all.push(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
        }
        all.push(json!({"type": "content_block_stop", "index": 0}));
    };
    match says {
        Says::Text => {
            block(
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                vec![
                    json!({"type": "thinking_delta", "thinking": "hm"}),
                    json!({"type": "signature_delta", "signature": "sig"}),
                ],
            );
            block(
                json!({"type": "text", "text": ""}),
                ["Hel", "lo"].map(|text| json!({"type": "text_delta", "text": text})).to_vec(),
            );
        }
        Says::Call => block(
            json!({"type": "tool_use", "id": "t1", "name": "look_here", "input": {}}),
            ["{\"a\"", ":1}"]
                .map(|part| json!({"type": "input_json_delta", "partial_json": part}))
                .to_vec(),
        ),
    }
    let reason = if says == Says::Call { "tool_use" } else { "end_turn" };
    all.push(json!({"type": "message_delta", "delta": {"stop_reason": reason},
        "usage": {"output_tokens": 4}}));
    all.push(json!({"type": "message_stop"}));
    all
}

fn gemini(says: Says) -> Vec<Value> {
    let spoken = |part: Value| json!({"candidates": [{"content": {"parts": [part]}}]});
    let mut all = match says {
        Says::Text => vec![
            spoken(json!({"text": "hm", "thought": true})),
            spoken(json!({"text": "Hel"})),
            spoken(json!({"text": "lo"})),
        ],
        Says::Call => vec![spoken(json!({"functionCall":
            {"id": "t1", "name": "look_here", "args": {"a": 1}}, "thoughtSignature": "sig"}))],
    };
    all.push(json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}}));
    all
}

fn interactions(says: Says) -> Vec<Value> {
    let mut all = Vec::new();
    match says {
        Says::Text => {
            for text in ["Hel", "lo"] {
                all.push(json!({"event_type": "step.delta", "index": 0,
                    "delta": {"type": "text", "text": text}}));
            }
        }
        Says::Call => {
            all.push(json!({"event_type": "step.start", "index": 0, "step":
                {"type": "function_call", "id": "t1", "name": "look_here"}}));
            all.push(json!({"event_type": "step.delta", "index": 0,
                "delta": {"type": "arguments_delta", "arguments": "{\"a\":1}"}}));
            all.push(json!({"event_type": "step.stop", "index": 0}));
        }
    }
    all.push(json!({"event_type": "interaction.completed", "interaction": {"id": "i",
        "status": "completed", "usage": {"total_input_tokens": 3, "total_output_tokens": 4}}}));
    all
}

fn ollama(says: Says) -> Vec<Value> {
    let spoken = |message: Value| json!({"message": message, "done": false});
    let mut all = match says {
        Says::Text => vec![
            spoken(json!({"thinking": "hm", "content": ""})),
            spoken(json!({"content": "Hel"})),
            spoken(json!({"content": "lo"})),
        ],
        Says::Call => vec![spoken(json!({"content": "", "tool_calls":
            [{"function": {"name": "look_here", "arguments": {"a": 1}}}]}))],
    };
    all.push(json!({"message": {"content": ""}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 3, "eval_count": 4}));
    all
}

fn converse(says: Says) -> Vec<(&'static str, Value)> {
    let mut all = vec![("messageStart", json!({"role": "assistant"}))];
    match says {
        Says::Text => {
            let thoughts = [json!({"text": "hm"}), json!({"signature": "sig"})];
            for thought in thoughts {
                all.push(("contentBlockDelta", json!({"delta": {"reasoningContent": thought}})));
            }
            all.push(("contentBlockStop", json!({})));
            for text in ["Hel", "lo"] {
                all.push(("contentBlockDelta", json!({"delta": {"text": text}})));
            }
        }
        Says::Call => {
            let tool = json!({"toolUseId": "t1", "name": "look_here"});
            all.push(("contentBlockStart", json!({"start": {"toolUse": tool}})));
            for part in ["{\"a\"", ":1}"] {
                all.push(("contentBlockDelta", json!({"delta": {"toolUse": {"input": part}}})));
            }
        }
    }
    let reason = if says == Says::Call { "tool_use" } else { "end_turn" };
    all.push(("contentBlockStop", json!({})));
    all.push(("messageStop", json!({"stopReason": reason})));
    all.push(("metadata", json!({"usage": {"inputTokens": 3, "outputTokens": 4}})));
    all
}

/// The frame of an event as Amazon writes it.
fn frame(kind: &str, payload: &Value) -> Vec<u8> {
    let payload = payload.to_string().into_bytes();
    let mut headers = Vec::new();
    for (name, value) in [(":event-type", kind), (":message-type", "event")] {
        headers.push(u8::try_from(name.len()).unwrap());
        headers.extend(name.as_bytes());
        headers.push(7);
        headers.extend(u16::try_from(value.len()).unwrap().to_be_bytes());
        headers.extend(value.as_bytes());
    }
    let total = u32::try_from(16 + headers.len() + payload.len()).unwrap();
    let mut frame = total.to_be_bytes().to_vec();
    frame.extend(u32::try_from(headers.len()).unwrap().to_be_bytes());
    frame.extend(checksum(&frame).to_be_bytes());
    frame.extend(headers);
    frame.extend(payload);
    frame.extend(checksum(&frame).to_be_bytes());
    frame
}

fn checksum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 }
        })
    })
}

/// The pieces of a reply in the language of a model.
pub(super) fn pieces(model: &str, says: Says) -> Vec<Vec<u8>> {
    let named = |event: Value| {
        let kind = event["type"].as_str().unwrap_or("message").to_owned();
        format!("event: {kind}\ndata: {event}\n\n").into_bytes()
    };
    if model.contains("bedrock") {
        converse(says).iter().map(|(kind, payload)| frame(kind, payload)).collect()
    } else if model.contains("ollama") {
        ollama(says).iter().map(|line| format!("{line}\n").into_bytes()).collect()
    } else if model.contains("minimax") || model.contains("claude") {
        claude(says).into_iter().map(named).collect()
    } else if model.contains("gemini_ix") {
        interactions(says).into_iter().map(named).collect()
    } else if model.contains("gemini") {
        gemini(says).into_iter().map(named).collect()
    } else {
        let done = b"data: [DONE]\n\n".to_vec();
        chat(says).into_iter().map(named).chain([done]).collect()
    }
}

pub(super) fn reply(model: &str, says: Says) -> Reply {
    streamed(&pieces(model, says))
}

pub(super) fn streamed(pieces: &[Vec<u8>]) -> Reply {
    let mut reply = events(&[]);
    let end = reply.pop().unwrap();
    for piece in pieces {
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend(piece);
        chunk.extend(b"\r\n");
        reply.push(Step::Send(chunk));
    }
    reply.push(end);
    reply
}

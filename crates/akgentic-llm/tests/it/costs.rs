//! What conversations cost.

use std::sync::{Arc, Mutex};

use akgentic_llm::*;

#[test]
fn usage_events_tell_what_a_response_cost() {
    let costs: Arc<Mutex<Vec<f64>>> = Arc::default();
    let seen = Arc::clone(&costs);
    let mut context = ContextManager::new(None);
    context.subscribe(Arc::new(move |event: &LlmEvent| {
        if let LlmEvent::Usage(event) = event {
            seen.lock().unwrap().push(event.estimated_cost_usd);
        }
        Ok(())
    }));
    let mut add = |model: &str, cache_read_tokens| {
        let mut response = super::say("x");
        response.model_name = Some(model.to_owned());
        response.provider_name = Some("openai".to_owned());
        response.usage = RequestUsage { cache_read_tokens, ..RequestUsage::tokens(1000, 500) };
        context.add_message(response).unwrap();
    };
    add("gpt-4o", 0);
    add("gpt-4o", 0);
    add("nobody-knows-it", 0);
    // more cached than there is: no price, and the message is kept
    add("gpt-4o", 2000);
    assert_eq!(*costs.lock().unwrap(), [0.0075, 0.0075, 0.0, 0.0]);
    assert_eq!(context.messages().len(), 4);
}

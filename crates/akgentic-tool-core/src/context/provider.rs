//! Who gives a context state.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::ContextState;

type Provide = dyn Fn() -> BoxFuture<'static, Option<Arc<dyn ContextState>>> + Send + Sync;

/// A named source of a context state; cheap to clone.
///
/// The name is the key under which is remembered what the model was told: it does not change. A
/// provider that has nothing to give, or whose agent is gone, gives `None`; it never fails.
#[derive(Clone)]
pub struct ContextProvider {
    name: Arc<str>,
    provide: Arc<Provide>,
}

impl ContextProvider {
    /// A provider that has to wait for its state.
    pub fn new<F, Fut, S>(name: impl Into<Arc<str>>, provide: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<S>> + Send + 'static,
        S: ContextState,
    {
        Self::shared(name, move || {
            let state = provide();
            Box::pin(
                async move { state.await.map(|state| Arc::new(state) as Arc<dyn ContextState>) },
            )
        })
    }

    /// A provider that reads its state from a snapshot at hand.
    pub fn read<F, S>(name: impl Into<Arc<str>>, read: F) -> Self
    where
        F: Fn() -> Option<S> + Send + Sync + 'static,
        S: ContextState,
    {
        Self::shared(name, move || {
            let state = read().map(|state| Arc::new(state) as Arc<dyn ContextState>);
            Box::pin(std::future::ready(state))
        })
    }

    /// A provider of states that are shared, or of more than one type.
    pub fn shared<F>(name: impl Into<Arc<str>>, provide: F) -> Self
    where
        F: Fn() -> BoxFuture<'static, Option<Arc<dyn ContextState>>> + Send + Sync + 'static,
    {
        Self { name: name.into(), provide: Arc::new(provide) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The state now.
    pub fn provide(&self) -> BoxFuture<'static, Option<Arc<dyn ContextState>>> {
        (self.provide)()
    }
}

impl fmt::Debug for ContextProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ContextProvider").field(&self.name).finish()
    }
}

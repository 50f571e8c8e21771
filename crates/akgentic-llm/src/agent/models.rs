//! Which model an agent talks to: building, switching, closing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _, ready};

use super::{ReactAgent, ReactAgentBuilder};
use crate::chain::FallbackModel;
use crate::compaction::Summarizer;
use crate::config::{ModelConfig, ReactAgentConfig};
use crate::error::{BoxError, ModelError};
use crate::message::ModelResponse;
use crate::model::{Model, ModelInput};
use crate::roster::{BuildModel, ModelSwitch, ModelSwitchError};

impl ReactAgent {
    /// An agent of a configuration, to be equipped; `build` gives its models, this one and its
    /// fallbacks now, others when they are switched to.
    pub fn from_config(
        config: ReactAgentConfig,
        build: Arc<BuildModel>,
    ) -> Result<ReactAgentBuilder, BoxError> {
        config.check()?;
        let model = FallbackModel::build(&config.model_cfg, &*build)?;
        Ok(ReactAgentBuilder::new(model).config(config).models(build))
    }

    /// The configuration of the active model.
    pub fn active_model(&self) -> &ModelConfig {
        &self.config.model_cfg
    }

    /// The models the agent may switch to; empty when it has no roster.
    pub fn model_roster(&self) -> &[ModelConfig] {
        &self.config.model_roster
    }

    /// Above how many input tokens of a reply the history is compacted by itself.
    pub fn compaction_threshold(&self) -> Option<u64> {
        self.config.compaction_cfg.threshold(&self.config.model_cfg)
    }

    /// How long a request may take: each model of the chain has its time.
    pub(super) fn chain_deadline(&self) -> Duration {
        let each = self.config.runtime_cfg.http_client_config.request_deadline();
        let links = u32::try_from(self.config.model_cfg.fallback_models.len()).unwrap_or(u32::MAX);
        each.saturating_mul(links.saturating_add(1))
    }

    /// Makes another model of the roster the active one, with its settings and fallbacks, from the
    /// next run on. When that is not possible nothing changes.
    pub fn switch_model(&mut self, key: &str) -> Result<ModelSwitch, ModelSwitchError> {
        let entry = self.config.entry(key)?.clone();
        self.config
            .check_bounds(&entry)
            .map_err(|reason| ModelSwitchError::CompactionBounds { key: key.to_owned(), reason })?;
        let cannot = |source| ModelSwitchError::CannotBuild { key: key.to_owned(), source };
        let build = self.build_model.as_deref().ok_or_else(|| cannot(NO_BUILDER.into()))?;
        let model = FallbackModel::build(&entry, build).map_err(cannot)?;
        let summarises = self.config.compaction_cfg.summary_model_cfg.is_none();
        if summarises {
            let deadline = self.config.runtime_cfg.http_client_config.request_deadline();
            let summarizer = Summarizer::ready(Arc::clone(&model), entry.clone(), deadline);
            self.compactor.rebuild(&summarizer).map_err(|error| cannot(error.into()))?;
        }
        self.model = model;
        self.config.model_cfg = entry;
        Ok(ModelSwitch { key: key.to_owned(), summarises })
    }

    /// Ends the agent and lets go of its model. Runs are refused from now on; closing again does
    /// nothing.
    pub fn close(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
            self.model = Arc::new(Closed(self.model.name().to_owned()));
            self.build_model = None;
            self.compactor.close();
        }
    }
}

/// The model that sums up: one of its own, built when it is first asked, or the active one.
pub(super) fn summarizer(
    config: &ReactAgentConfig,
    model: &Arc<dyn Model>,
    build: Option<&Arc<BuildModel>>,
) -> Summarizer {
    let deadline = config.runtime_cfg.http_client_config.request_deadline();
    match &config.compaction_cfg.summary_model_cfg {
        Some(own) => Summarizer::lazy(build.cloned(), own.clone(), deadline),
        None => Summarizer::ready(Arc::clone(model), config.model_cfg.clone(), deadline),
    }
}

const NO_BUILDER: &str = "the agent was given no way to build models";

/// Stands where the model of a closed agent was.
struct Closed(String);

impl Model for Closed {
    fn name(&self) -> &str {
        &self.0
    }

    fn request(&self, _: ModelInput) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        ready(Err(ModelError::Usage("the agent is closed".to_owned()))).boxed()
    }
}

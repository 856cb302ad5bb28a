//! What the database holds, and what answers from it.

use super::{
    AppError, RunMode, StartContext,
    demo::DemoRun,
    service_manager,
    stopping::{RunningPart, StopDeadline},
};
use accounts::{Accounts, AccountsError, products::CurrentCatalogue};
use base::clock::wall;
use database::{Database, Fence};
use history::{
    archive::{self, Archive},
    predict::Predictor,
    query::Competitions,
    reader::Reader,
    signal_board::SignalBoard,
};
use hub::identity::store::IdentityStore;
use record::{
    Withdrawals,
    ids::{self, PublicIds},
};
use web::entitlement::Entitlement;

/// The open stores. All but the run of the demo are handles, whose clones share what they hold.
pub(super) struct Stores {
    pub accounts: Accounts,
    pub prices: CurrentCatalogue,
    pub entitlement: Entitlement,
    /// `None` unless the demo or a load is played.
    pub demo_key: Option<String>,
    /// `None` unless the demo is played.
    pub demo: Option<DemoRun>,
    pub ids: PublicIds,
    pub fence: Fence,
    /// The database, which takes no writes once another node of the cluster leads.
    pub fenced: Database,
    pub history: HistoryStores,
    pub identities: IdentityStore,
    #[cfg(feature = "webhooks")]
    pub webhooks: webhooks::Webhooks,
}

/// What readers of matches get their answers from.
pub(super) struct HistoryStores {
    pub archive: Archive,
    pub reader: Reader,
    pub withdrawals: Withdrawals,
    pub competitions: Competitions,
    pub predictor: Predictor,
    pub signals: SignalBoard,
}

impl Stores {
    pub(super) async fn open(context: StartContext<'_>) -> Result<Self, AppError> {
        let StartContext { config, mode, .. } = context;
        let database = Database::open_with(&config.server.db, &config.database);
        let database = service_manager::extending_start(database).await;
        let accounts =
            Accounts::new(database.map_err(AccountsError::from)?, &config.accounts).await?;
        let database = accounts.database();
        let prices =
            CurrentCatalogue::new(config.products.catalogue().expect("the settings were checked"));
        let demo_key = demo_key(&accounts, mode).await?;
        #[cfg(feature = "demo")]
        let demo = super::demo::resume_or_start(context, &accounts).await?;
        #[cfg(not(feature = "demo"))]
        let demo = None;
        let journal = ids::path_beside(config.server.db.beside());
        let ids = PublicIds::open_with_journal(database, config.hub.ids_max, &journal).await?;
        let fence = Fence::default();
        let fenced = database.fenced(&fence);
        let archive = Archive::open(&fenced).await.map_err(AppError::Archive)?;
        let signals = SignalBoard::default();
        let restored = archive::signals::restore(database, &signals).await;
        restored.map_err(AppError::Archive)?;
        let withdrawals = Withdrawals::default();
        let reader = Reader::masked_by(withdrawals.clone());
        let (competitions, predictor) =
            (Competitions::new(config.competitions.clone()), Predictor::default());
        let history =
            HistoryStores { archive, reader, withdrawals, competitions, predictor, signals };
        let entitlement = Entitlement::new(prices.clone());
        let identities = IdentityStore::new(database);
        #[cfg(feature = "webhooks")]
        let webhooks = super::webhooks::open(&accounts, config);
        Ok(Self {
            accounts,
            prices,
            entitlement,
            demo_key,
            demo,
            ids,
            fence,
            fenced,
            history,
            identities,
            #[cfg(feature = "webhooks")]
            webhooks,
        })
    }
}

impl RunningPart for Stores {
    async fn stop(self, deadline: StopDeadline) {
        deadline.step("database", self.accounts.close()).await;
    }
}

async fn demo_key(accounts: &Accounts, mode: &RunMode) -> Result<Option<String>, AppError> {
    match mode {
        RunMode::Demo | RunMode::Load(_) => {
            Ok(Some(accounts.ensure_demo_key(wall()).await?.expose().to_owned()))
        }
        // The key is stored in clear, which is acceptable in a demo only.
        RunMode::Nothing | RunMode::Recordings(_) => {
            accounts.forget_demo_key(wall()).await?;
            Ok(None)
        }
    }
}

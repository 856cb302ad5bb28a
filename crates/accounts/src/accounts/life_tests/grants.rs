//! Connected applications: their tokens in time, and what ends them.

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};
use sqlx::AssertSqlSafe;
use tokio::join;

use super::*;
use crate::{
    accounts::oauth::TokenRefusal,
    config::{LimitsConfig, OAuthConfig},
    limits::{Limits, LimitsKey},
    products::Product,
};

const CLIENT: &str = "https://app.example/client.json";
const REDIRECT: &str = "https://app.example/callback";
const VERIFIER: &str = "a-verifier-of-at-least-forty-three-characters";
const SECOND: Micros = 1_000_000;

/// Grants of test accounts.
struct TestGrants<'a> {
    life: &'a TestAccounts,
    oauth: OAuth,
}

impl<'a> TestGrants<'a> {
    fn new(life: &'a TestAccounts) -> Self {
        Self::with(life, OAuthConfig::default())
    }

    fn with(life: &'a TestAccounts, config: OAuthConfig) -> Self {
        Self { life, oauth: OAuth::new(life.accounts.clone(), config) }
    }

    async fn code(&self, account: AccountId, scopes: &str, now: Micros) -> Token {
        let digest = BASE64URL_NOPAD.encode(&Sha256::digest(VERIFIER.as_bytes()));
        let consent = Consent {
            account,
            client_id: CLIENT,
            client_name: "An app",
            redirect_uri: REDIRECT,
            audience: Product::Football,
            scopes: Scopes::parse(scopes),
            challenge: &CodeChallenge::parse(&digest).unwrap(),
        };
        self.oauth.grant(&consent, now).await.unwrap()
    }

    async fn redeem(&self, code: &Token, now: Micros) -> Result<IssuedTokens, TokenRefusal> {
        let redemption = CodeRedemption {
            code: code.expose(),
            client_id: CLIENT,
            redirect_uri: REDIRECT,
            verifier: VERIFIER,
            audience: None,
        };
        self.oauth.redeem(&redemption, now).await.unwrap()
    }

    async fn refresh(&self, token: &Token, now: Micros) -> Result<IssuedTokens, TokenRefusal> {
        let request = RefreshRequest {
            token: token.expose(),
            client_id: CLIENT,
            audience: None,
            scopes: None,
        };
        self.oauth.refresh(&request, now).await.unwrap()
    }

    async fn connect(&self, account: AccountId, now: Micros) -> IssuedTokens {
        let code = self.code(account, "football odds", now).await;
        self.redeem(&code, now).await.unwrap()
    }

    async fn caller(&self, token: &Token, now: Micros) -> Option<Caller> {
        let product = Product::Football;
        let accounts = &self.life.accounts;
        accounts.authenticate_for_mcp(token.expose(), product, HERE, now).await.unwrap()
    }

    async fn works(&self, token: &Token, now: Micros) -> bool {
        self.caller(token, now).await.is_some()
    }
}

#[tokio::test]
async fn tokens_expire_and_each_refresh_starts_anew() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let grants = TestGrants::new(&life);
        let code = grants.code(account, "football", NOW).await;
        let late = grants.redeem(&code, NOW + 60 * SECOND).await;
        assert_eq!(late.map(|_| ()), Err(TokenRefusal::InvalidGrant));
        let first = grants.redeem(&code, NOW + 60 * SECOND - 1).await.unwrap();
        let begun = NOW + 60 * SECOND - 1;
        assert!(grants.works(&first.access, begun).await);
        assert!(grants.works(&first.access, begun + HOUR_US - 1).await);
        // Cached or not.
        assert!(!grants.works(&first.access, begun + HOUR_US).await);
        assert!(!grants.works(&first.access, begun + 2 * HOUR_US).await);
        let second = grants.refresh(&first.refresh, begun + 60 * DAY_US - 1).await.unwrap();
        let third = grants.refresh(&second.refresh, begun + 119 * DAY_US).await.unwrap();
        let expired = grants.refresh(&third.refresh, begun + 179 * DAY_US).await;
        assert_eq!(expired.map(|_| ()), Err(TokenRefusal::InvalidGrant));
        assert!(grants.works(&third.access, begun + 119 * DAY_US).await);
    })
    .await;
}

/// An access token is valid on one server, and it is no key.
#[tokio::test]
async fn token_is_for_its_audience_only() {
    on_each_accounts(async |life| {
        let (account, key) = life.active(ME).await;
        let grants = TestGrants::new(&life);
        let tokens = grants.connect(account, NOW).await;
        let is_accepted = async |credential: &str, product| {
            let found = life.accounts.authenticate_for_mcp(credential, product, HERE, NOW).await;
            found.unwrap().is_some()
        };
        assert!(is_accepted(tokens.access.expose(), Product::Football).await);
        assert!(!is_accepted(tokens.access.expose(), Product::TENNIS).await);
        assert!(is_accepted(key.expose(), Product::TENNIS).await, "a key is for all");
        for token in [&tokens.access, &tokens.refresh] {
            assert_eq!(life.accounts.authenticate(token.expose(), HERE, NOW).await.unwrap(), None);
        }
        assert!(!is_accepted(tokens.refresh.expose(), Product::Football).await);
    })
    .await;
}

#[tokio::test]
async fn scopes_narrow_the_caller_and_not_the_quota() {
    on_each_accounts(async |life| {
        let (account, key) = life.active(ME).await;
        life.execute(
            "INSERT INTO addons (account_id, addon, expires_us) \
             SELECT id, 'odds', 9000000000000000 FROM accounts",
        )
        .await;
        life.accounts.broadcast_own_changes().await;
        let grants = TestGrants::new(&life);
        let code = grants.code(account, "football", NOW).await;
        let narrow = grants.redeem(&code, NOW).await.unwrap();
        let wide = grants.connect(account, NOW).await;
        let narrow = grants.caller(&narrow.access, NOW).await.unwrap();
        let wide = grants.caller(&wide.access, NOW).await.unwrap();
        let owner = life.accounts.authenticate(key.expose(), HERE, NOW).await.unwrap().unwrap();
        let sees = |caller: &Caller| (caller.has(Addon::Odds, NOW), caller.may_use(Addon::Odds));
        assert_eq!(sees(&narrow), (false, false));
        assert_eq!(narrow.expiry(Addon::Odds), None);
        assert_eq!((sees(&wide), sees(&owner)), ((true, true), (true, true)));
        assert!(!narrow.has_scope(Scope::Sports) && narrow.has_scope(Scope::Football));
        assert!(owner.has_scope(Scope::Sports));
        assert_eq!(narrow.ends(), Some(NOW + HOUR_US));
        assert_eq!(owner.ends(), None);
        let limits = Limits::new(&LimitsConfig::default(), LimitsKey::random());
        assert_eq!(limits.quota(&narrow, Product::Football, NOW), None, "the account pays");
        let renewed = life.accounts.renew(&narrow).await.unwrap().unwrap();
        assert_eq!(sees(&renewed), (false, false), "a renewed caller keeps its scopes");
    })
    .await;
}

/// A grant is a row of the table of keys, and no key.
#[tokio::test]
async fn grants_are_not_listed_as_keys() {
    on_each_accounts(async |life| {
        let (account, key) = life.active(ME).await;
        let grants = TestGrants::new(&life);
        grants.connect(account, NOW).await;
        assert_eq!(life.accounts.keys().await.unwrap().len(), 1);
        assert_eq!(life.accounts.keys_of(account).await.unwrap().len(), 1);
        let customer = life.customer(account).await.unwrap();
        assert_eq!(customer.key_prefix.as_deref(), Some(key.prefix()));
        assert!(life.accounts.caller_of(account).await.unwrap().is_some());
        life.accounts.revoke(key.expose(), NOW).await.unwrap();
        assert_eq!(life.customer(account).await.unwrap().key_prefix, None);
        assert_eq!(life.accounts.caller_of(account).await.unwrap(), None);
        let apps = grants.oauth.connected_apps(account, NOW).await.unwrap();
        assert_eq!(apps.len(), 1, "a revoked key leaves applications connected");
    })
    .await;
}

#[tokio::test]
async fn connected_apps_are_listed_until_they_end() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let (other, _) = life.active("you@x.org").await;
        let grants = TestGrants::new(&life);
        let listed = async |account, now| grants.oauth.connected_apps(account, now).await.unwrap();
        grants.code(account, "football", NOW).await;
        assert_eq!(listed(account, NOW).await, [], "the code was not used");
        let tokens = grants.connect(account, NOW).await;
        let apps = listed(account, NOW).await;
        let [app] = &apps[..] else { panic!("{apps:?}") };
        assert_eq!((&*app.name, &*app.host(), app.since), ("An app", "app.example", NOW));
        assert_eq!((app.scopes, app.used), (Scopes::parse("football odds"), NOW));
        let later = NOW + 5 * 60 * SECOND;
        assert!(grants.works(&tokens.access, later).await);
        assert_eq!(listed(account, later).await[0].used, later);
        assert_eq!(listed(account, NOW + 60 * DAY_US).await, [], "unused for too long");

        let key = app.key.number();
        assert!(!grants.oauth.disconnect(other, key, later).await.unwrap(), "of another account");
        assert!(grants.works(&tokens.access, later).await);
        assert!(grants.oauth.disconnect(account, key, later).await.unwrap());
        assert!(!grants.works(&tokens.access, later).await);
        assert!(!grants.oauth.disconnect(account, key, later).await.unwrap(), "again");
        assert_eq!(listed(account, later).await, []);
    })
    .await;
}

/// What revokes keys revokes grants, in every process on the database.
#[tokio::test]
async fn revocation_reaches_other_processes() {
    on_each(async |database| {
        let (life, hub) = (TestAccounts::new(&database).await, TestAccounts::new(&database).await);
        let (account, _) = life.active(ME).await;
        let (grants, elsewhere) = (TestGrants::new(&life), TestGrants::new(&hub));
        let tokens = grants.connect(account, NOW).await;
        let caller = elsewhere.caller(&tokens.access, NOW).await.expect("it works there");
        let mut changes = hub.accounts.changes();
        life.accounts.regenerate_key(account, NOW).await.unwrap();
        hub.accounts.broadcast_own_changes().await;
        let mut changed = Vec::new();
        while let Ok(key) = changes.try_recv() {
            changed.push(key);
        }
        assert!(changed.contains(&caller.key), "{changed:?}");
        assert!(!elsewhere.works(&tokens.access, NOW).await);
        assert_eq!(hub.accounts.renew(&caller).await.unwrap(), None, "open streams end");
    })
    .await;
}

#[tokio::test]
async fn ended_grants_are_swept() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let grants = TestGrants::new(&life);
        grants.code(account, "football", NOW).await;
        let kept = grants.connect(account, NOW).await;
        let revoked = grants.connect(account, NOW).await;
        grants.oauth.revoke(revoked.refresh.expose(), None, NOW).await.unwrap();
        assert_eq!(life.accounts.sweep(NOW + HOUR_US).await.unwrap().grants, 0, "too early");
        assert_eq!(life.accounts.sweep(NOW + 2 * DAY_US).await.unwrap().grants, 2);
        assert_eq!(life.count("SELECT COUNT(*) FROM oauth_grants").await, 1);
        let next = grants.refresh(&kept.refresh, NOW + 2 * DAY_US).await.unwrap();
        assert!(grants.works(&next.access, NOW + 2 * DAY_US).await);
        assert_eq!(life.accounts.sweep(NOW + 64 * DAY_US).await.unwrap().grants, 1);
        assert_eq!(life.count("SELECT COUNT(*) FROM keys").await, 1, "the account's key");
    })
    .await;
}

#[tokio::test]
async fn unused_grants_give_way_to_new_ones() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let config = OAuthConfig { grants_max_per_account: 2, ..OAuthConfig::default() };
        let grants = TestGrants::with(&life, config);
        let first = grants.connect(account, NOW).await;
        let second = grants.connect(account, NOW + SECOND).await;
        let used = NOW + 2 * 60 * SECOND;
        assert!(grants.works(&first.access, used).await);
        let third = grants.connect(account, used + SECOND).await;
        let works = async |tokens: &IssuedTokens| grants.works(&tokens.access, used).await;
        assert_eq!(
            (works(&first).await, works(&second).await, works(&third).await),
            (true, false, true)
        );
    })
    .await;
}

/// Only keyed hashes are stored.
#[tokio::test]
async fn secrets_are_not_stored() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let grants = TestGrants::new(&life);
        let code = grants.code(account, "football", NOW).await;
        let tokens = grants.redeem(&code, NOW).await.unwrap();
        for column in ["code_hash", "access_hash", "refresh_hash", "family_hash"] {
            let sql = AssertSqlSafe(format!("SELECT {column} FROM oauth_grants"));
            let pool = life.accounts.database().pool();
            let hash: Vec<u8> = sqlx::query_scalar(sql).fetch_one(pool).await.unwrap();
            assert_eq!(hash.len(), 32, "{column}");
            for secret in [&code, &tokens.access, &tokens.refresh] {
                let digest = Sha256::digest(secret.expose().as_bytes());
                assert_ne!(&hash[..], &digest[..], "{column} takes no key");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn account_that_is_not_open_connects_nothing() {
    on_each_accounts(async |life| {
        let (account, _) = life.active(ME).await;
        let grants = TestGrants::new(&life);
        let code = grants.code(account, "football", NOW).await;
        life.accounts.block(account, true, NOW).await.unwrap();
        assert_eq!(grants.redeem(&code, NOW).await.map(|_| ()), Err(TokenRefusal::InvalidGrant));
        let consent = Consent {
            account,
            client_id: CLIENT,
            client_name: "An app",
            redirect_uri: REDIRECT,
            audience: Product::Football,
            scopes: Scopes::parse("football"),
            challenge: &CodeChallenge::parse(&BASE64URL_NOPAD.encode(&[0; 32])).unwrap(),
        };
        assert!(matches!(grants.oauth.grant(&consent, NOW).await, Err(AccountsError::Gone)));
        life.accounts.block(account, false, NOW).await.unwrap();
        assert!(grants.redeem(&code, NOW).await.is_ok(), "a block revokes nothing");
    })
    .await;
}

/// Two uses at the same moment: one yields tokens, the other ends the grant.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_uses_of_a_secret_end_the_grant() {
    on_each(async |database| {
        let (life, hub) = (TestAccounts::new(&database).await, TestAccounts::new(&database).await);
        let (account, _) = life.active(ME).await;
        let (one, other) = (TestGrants::new(&life), TestGrants::new(&hub));
        for _ in 0..6 {
            let code = one.code(account, "football", NOW).await;
            let (first, second) = join!(one.redeem(&code, NOW), other.redeem(&code, NOW));
            let tokens = match (first, second) {
                (Ok(tokens), Err(TokenRefusal::InvalidGrant))
                | (Err(TokenRefusal::InvalidGrant), Ok(tokens)) => tokens,
                both => panic!("{both:?}"),
            };
            assert!(!one.works(&tokens.access, NOW).await);

            let tokens = one.connect(account, NOW).await;
            let (first, second) =
                join!(one.refresh(&tokens.refresh, NOW), other.refresh(&tokens.refresh, NOW));
            assert_eq!(usize::from(first.is_ok()) + usize::from(second.is_ok()), 1);
            let newer = first.or(second).unwrap();
            assert!(!one.works(&newer.access, NOW).await);
        }
    })
    .await;
}

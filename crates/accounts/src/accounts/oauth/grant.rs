//! The states of a grant, as plain values: which code and which refresh token are good for what.
//!
//! A grant begins with a code. Its first use yields tokens; each use of the refresh token replaces
//! them. Whatever is used a second time proves that two parties have it, so the grant ends.

use crate::accounts::{Micros, key::KeyHash};

/// What decides about codes and refresh tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrantState {
    pub(crate) is_revoked: bool,
    /// The keyed hash of the code.
    pub(crate) code: Vec<u8>,
    pub(crate) code_used: Option<Micros>,
    /// Those of the current refresh token, and of the part that all of the grant share.
    pub(crate) refresh: Option<Vec<u8>>,
    pub(crate) family: Option<Vec<u8>>,
    /// The end of the code; once that is used, of the refresh token.
    pub(crate) ends: Micros,
}

/// What a presented code or refresh token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenUse {
    /// It may be exchanged.
    Current,
    /// It was exchanged before: the grant must be revoked.
    Reused,
    /// It is too old.
    Expired,
    /// It is not of this grant, or the grant was revoked.
    Unknown,
}

impl GrantState {
    pub(super) fn judge_code(&self, hash: &KeyHash, now: Micros) -> TokenUse {
        if self.is_revoked || !hash.matches(&self.code) {
            TokenUse::Unknown
        } else if self.code_used.is_some() {
            TokenUse::Reused
        } else if now >= self.ends {
            TokenUse::Expired
        } else {
            TokenUse::Current
        }
    }

    pub(super) fn judge_refresh(&self, hash: &KeyHash, family: &KeyHash, now: Micros) -> TokenUse {
        let fits = |stored: &Option<Vec<u8>>, hash: &KeyHash| {
            stored.as_ref().is_some_and(|stored| hash.matches(stored))
        };
        if self.is_revoked || !fits(&self.family, family) {
            TokenUse::Unknown
        } else if !fits(&self.refresh, hash) {
            TokenUse::Reused
        } else if now >= self.ends {
            TokenUse::Expired
        } else {
            TokenUse::Current
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::accounts::{
        key::Pepper,
        oauth::token::{PresentedRefresh, Token},
    };

    /// A grant with the secrets of both sides, as the store and a client hold them.
    struct TestGrant {
        pepper: Pepper,
        state: GrantState,
        code: Token,
        /// All refresh tokens ever issued, the newest last.
        refresh: Vec<Token>,
    }

    const CODE_AGE: Micros = 60;
    const IDLE: Micros = 1_000;

    impl TestGrant {
        fn new() -> Self {
            let pepper = Pepper::new("pepper".to_owned());
            let code = Token::code("0a1b2c3d").unwrap();
            let state = GrantState {
                is_revoked: false,
                code: pepper.hash_token(code.expose()).as_bytes().to_vec(),
                code_used: None,
                refresh: None,
                family: None,
                ends: CODE_AGE,
            };
            Self { pepper, state, code, refresh: Vec::new() }
        }

        fn issue(&mut self, token: Token, now: Micros) {
            let refresh = token.as_refresh().unwrap();
            let hash = |text: &str| Some(self.pepper.hash_token(text).as_bytes().to_vec());
            self.state.refresh = hash(refresh.as_str());
            self.state.family = hash(refresh.family());
            self.state.ends = now + IDLE;
            self.refresh.push(token);
        }

        fn use_code(&mut self, now: Micros) -> TokenUse {
            let judged = self.state.judge_code(&self.pepper.hash_token(self.code.expose()), now);
            self.settle(judged);
            if judged == TokenUse::Current {
                self.state.code_used = Some(now);
                self.issue(Token::first_refresh("0a1b2c3d").unwrap(), now);
            }
            judged
        }

        fn use_refresh(&mut self, token: &Token, now: Micros) -> TokenUse {
            let presented: PresentedRefresh<'_> = token.as_refresh().unwrap();
            let hash = self.pepper.hash_token(presented.as_str());
            let family = self.pepper.hash_token(presented.family());
            let judged = self.state.judge_refresh(&hash, &family, now);
            self.settle(judged);
            if judged == TokenUse::Current {
                self.issue(Token::next_refresh(presented).unwrap(), now);
            }
            judged
        }

        fn settle(&mut self, judged: TokenUse) {
            self.state.is_revoked |= judged == TokenUse::Reused;
        }
    }

    #[test]
    fn code_works_once_and_in_time() {
        let mut grant = TestGrant::new();
        assert_eq!(grant.use_code(CODE_AGE), TokenUse::Expired);
        assert_eq!(grant.use_code(CODE_AGE - 1), TokenUse::Current);
        assert_eq!(grant.use_code(CODE_AGE + 5), TokenUse::Reused, "even after its time");
        let newest = grant.refresh[0].clone();
        assert_eq!(grant.use_refresh(&newest, CODE_AGE + 6), TokenUse::Unknown);
    }

    #[test]
    fn forged_refresh_token_does_not_revoke() {
        let mut grant = TestGrant::new();
        grant.use_code(1);
        let forged = Token::first_refresh("0a1b2c3d").unwrap();
        assert_eq!(grant.use_refresh(&forged, 2), TokenUse::Unknown);
        let newest = grant.refresh[0].clone();
        assert_eq!(grant.use_refresh(&newest, 3), TokenUse::Current);
    }

    #[test]
    fn refresh_token_expires_when_idle() {
        let mut grant = TestGrant::new();
        grant.use_code(0);
        for now in [IDLE - 1, 2 * IDLE - 2] {
            let newest = grant.refresh.last().unwrap().clone();
            assert_eq!(grant.use_refresh(&newest, now), TokenUse::Current);
        }
        let newest = grant.refresh.last().unwrap().clone();
        assert_eq!(grant.use_refresh(&newest, 3 * IDLE - 2), TokenUse::Expired);
    }

    #[derive(Debug, Clone)]
    enum Act {
        Code,
        /// A refresh token, counted from the newest.
        Refresh(usize),
        Forged,
    }

    fn act() -> impl Strategy<Value = Act> {
        prop_oneof![Just(Act::Code), (0_usize..4).prop_map(Act::Refresh), Just(Act::Forged)]
    }

    proptest! {
        /// Only the newest secret yields tokens, each secret does so once, and nothing works after
        /// a reuse.
        #[test]
        fn reuse_ends_the_grant(acts in prop::collection::vec((act(), 0_i64..20), 1..40)) {
            let (mut grant, mut now, mut ended, mut redeemed) = (TestGrant::new(), 0, false, false);
            for (act, later) in acts {
                now += later;
                let issued = grant.refresh.len();
                let judged = match act {
                    Act::Code => {
                        let judged = grant.use_code(now);
                        let expected = match (ended, redeemed, now < CODE_AGE) {
                            (true, ..) => TokenUse::Unknown,
                            (_, true, _) => TokenUse::Reused,
                            (_, _, true) => TokenUse::Current,
                            (_, _, false) => TokenUse::Expired,
                        };
                        prop_assert_eq!(judged, expected);
                        redeemed |= judged == TokenUse::Current;
                        judged
                    }
                    Act::Refresh(back) if back < issued => {
                        let token = grant.refresh[issued - 1 - back].clone();
                        let judged = grant.use_refresh(&token, now);
                        let expected = match (ended, back) {
                            (true, _) => TokenUse::Unknown,
                            (false, 0) => TokenUse::Current,
                            (false, _) => TokenUse::Reused,
                        };
                        prop_assert_eq!(judged, expected);
                        judged
                    }
                    Act::Refresh(_) => continue,
                    Act::Forged => {
                        let forged = Token::first_refresh("0a1b2c3d").unwrap();
                        let judged = grant.use_refresh(&forged, now);
                        prop_assert_eq!(judged, TokenUse::Unknown);
                        judged
                    }
                };
                ended |= judged == TokenUse::Reused;
                let grew = grant.refresh.len() - issued;
                prop_assert_eq!(grew, usize::from(judged == TokenUse::Current));
            }
        }
    }
}

//! The page of deductions: points that a competition took from a team.

use super::operator;
use crate::support::Hub;

#[tokio::test]
async fn deductions_are_added_and_removed() {
    let hub = Hub::start_with(&["serve"], &super::QUICK);
    let mut ada = operator(&hub).await;
    let fields = |points: &'static str| {
        let season = [("competition", "England/Championship"), ("season", "2019/20")];
        let team = [("team", "Wigan"), ("points", points), ("date", "2020-07-14")];
        [season.to_vec(), team.to_vec(), vec![("reason", "administration")]].concat()
    };
    let refused = ada.fill("/admin/deductions/", "/admin/deductions/add/", &fields("0")).await;
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(ada.get("/admin/deductions/").await.body.contains("None."));
    let added = ada.fill("/admin/deductions/", "/admin/deductions/add/", &fields("12")).await;
    assert_eq!((added.status, added.header("location")), (303, Some("/admin/deductions/")));
    let page = ada.get("/admin/deductions/").await.body;
    for text in ["Wigan", "England/Championship", "2019/20", ">12<", "2020-07-14", "administration"]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
    let id = page.split("name=\"id\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let id = [("id", id.expect("a number"))];
    ada.fill("/admin/deductions/", "/admin/deductions/remove/", &id).await;
    assert!(ada.get("/admin/deductions/").await.body.contains("None."));
}

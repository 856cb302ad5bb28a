"""Which Rust tests are found in sources, and in which programs."""

import unittest
from pathlib import Path

from runner.cargo import Program
from runner.environment import TOP
from runner.rust_tests import RustTest, selected, tests_of, tests_of_servers

SOURCE = '''
async fn on_each_shop(test: impl AsyncFn(Shop)) {
    on_each(async |database| test(Shop::new(database)).await).await;
}

#[test]
fn plain() {}

#[tokio::test]
#[ignore = "needs PostgreSQL: make test-systems runs it"]
async fn with_server() {}

mod inside {
    #[tokio::test(flavor = "multi_thread")]
    #[expect(clippy::large_futures, reason = "of a test")]
    async fn on_both() {
        on_each_shop(async |shop| shop.open().await).await;
    }
}

#[test]
#[ignore = "a measurement"]
fn speed() {
    on_each(async |database| measure(database).await);
}

async fn helper() {
    on_each(async |_| ()).await;
}

#[tokio::test]
async fn in_long_runs() {
    on_sqlite(async |place| place.open().await).await;
}
'''


def program(source, target="it"):
    return Program(TOP, target, TOP / source, Path("/t/it-1"), True)


class RustTests(unittest.TestCase):
    def test_tests_say_what_they_need(self):
        file = TOP / "tests/it/shops.rs"
        expected = [RustTest(file, "with_server", "PostgreSQL"), RustTest(file, "on_both", on_postgres=True)]
        self.assertEqual(tests_of(file, SOURCE), expected)
        long = [*expected, RustTest(file, "in_long_runs", on_postgres=True)]
        self.assertEqual(tests_of(file, SOURCE, long=True), long)

    def test_tests_are_found_under_the_module_of_their_file(self):
        found = tests_of(TOP / "tests/it/shops.rs", SOURCE)
        paths = ["shops::with_server", "shops::inside::on_both", "shops::plain", "other::on_both", "on_both"]
        chosen = selected(found, program("tests/it/main.rs"), paths)
        self.assertEqual([path for path, _ in chosen], ["shops::with_server", "shops::inside::on_both"])
        self.assertEqual(selected(found, program("tests/docs.rs", "docs"), ["with_server"]), [])

    def test_files_of_folders_and_roots_have_fewer_words(self):
        folder = [RustTest(TOP / "crates/hub/src/store/mod.rs", "opens"), RustTest(TOP / "crates/hub/src/lib.rs", "starts")]
        chosen = selected(folder, program("crates/hub/src/lib.rs"), ["store::opens", "other::opens", "starts", "tests::starts"])
        self.assertEqual([path for path, _ in chosen], ["store::opens", "starts", "tests::starts"])
        self.assertEqual(selected([RustTest(TOP / "tests/docs.rs", "codes")], program("tests/docs.rs"), ["codes"])[0][0], "codes")

    def test_every_attribute_of_the_repository_is_read(self):
        found = tests_of_servers(TOP)
        written = sum(path.read_text().count('#[ignore = "needs ') for path in {test.file for test in found})
        self.assertEqual(sum(bool(test.server) for test in found), written)
        needs = {"PostgreSQL", "RabbitMQ", "NATS", "Pebble", "nginx", "HAProxy", "the demo's past"}
        self.assertLessEqual({test.server for test in found}, needs | {None})

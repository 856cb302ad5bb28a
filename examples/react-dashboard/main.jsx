import { createRoot } from "react-dom/client";
import { connect } from "matchwire";
import { MatchwireProvider } from "matchwire/react";
import { Dashboard } from "./dashboard.jsx";

// A key is for this machine only. Elsewhere a ticket, as the package's README shows.
const hub = connect("http://127.0.0.1:8080", { key: new URLSearchParams(location.hash.slice(1)).get("key") });

createRoot(document.getElementById("root")).render(
  <MatchwireProvider hub={hub}>
    <Dashboard />
  </MatchwireProvider>,
);

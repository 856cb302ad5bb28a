"use client";
// React hooks: a component renders again when the part of the document that it selects differs, at most once a frame.
// Subscriptions begin in effects and are shared, so Strict Mode, Fast Refresh and a list that moves cost nothing at the hub.

import { createContext, createElement, useCallback, useContext, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { equal } from "./compare.js";
import { createStore } from "./store.js";

/** @import { ReactNode } from "react" */
/** @import { DocumentOf, EventOf, FollowRate, Health, Heard } from "./types.d.ts" */
/** @import { Hub } from "./client.js" */
/** @import { Store } from "./store.js" */

const Context = createContext(/** @type {Store | undefined} */ (undefined));

/**
 * Gives a hub to the components below. `hub` may be undefined, as on a server: then there are no documents.
 *
 * @param {{ hub?: Hub, children?: ReactNode }} props
 */
export function MatchwireProvider({ hub, children }) {
  const store = useMemo(() => (hub ? createStore(hub) : undefined), [hub]);
  return createElement(Context.Provider, { value: store }, children);
}

/** The hub of the provider above; undefined without one. */
export function useHub() {
  return useContext(Context)?.hub;
}

/**
 * A part of a channel's document; undefined before the first document, and on a server.
 *
 * @template {string} Ch
 * @template [Value=DocumentOf<Ch>]
 * @param {Ch | undefined} ch undefined follows nothing
 * @param {(data: DocumentOf<Ch>) => Value} [selector] may be a new function, and make new objects, in each rendering
 * @param {{ rate?: FollowRate }} [options]
 * @returns {Value | undefined}
 */
export function useChannel(ch, selector = (data) => /** @type {any} */ (data), { rate } = {}) {
  return useView(ch, rate, (view) => (view.data === undefined ? undefined : selector(view.data)), undefined);
}

/**
 * How far the document can be trusted; `waiting` on a server.
 *
 * @param {string | undefined} ch
 * @returns {Health}
 */
export function useHealth(ch) {
  return useView(ch, undefined, (view) => view.health, "waiting");
}

/**
 * Calls `handler` for each event of a kind (`event`: of any), exactly once and at once, while the component is there.
 *
 * @template {string} Ch
 * @template {string} Kind
 * @param {Ch | undefined} ch a channel or pattern
 * @param {Kind} kind
 * @param {(event: Heard<Kind, DocumentOf<Ch>, EventOf<Ch>>, ch: string) => void} handler may be a new function in each rendering
 */
export function useEvents(ch, kind, handler) {
  const hub = useHub();
  const latest = useRef(handler);
  useEffect(() => {
    latest.current = handler;
  });
  useEffect(() => {
    if (hub === undefined || ch === undefined) return undefined;
    // Values are of no use here, and events never wait.
    const follow = hub.follow(ch, { rate: 5000 });
    follow.on(kind, (event, name) => latest.current(event, name));
    return () => follow.close();
  }, [hub, ch, kind]);
}

/**
 * @template Value
 * @param {string | undefined} ch
 * @param {FollowRate | undefined} rate
 * @param {(view: import("./store.js").View) => Value} read
 * @param {Value} absent without a hub
 * @returns {Value}
 */
function useView(ch, rate, read, absent) {
  const store = useContext(Context);
  const view = useMemo(() => (store && ch !== undefined ? store.view(ch, rate) : undefined), [store, ch, rate]);
  const subscribe = useCallback((/** @type {() => void} */ run) => view?.watch(run) ?? (() => {}), [view]);
  const last = useRef(absent);
  const snapshot = () => {
    const value = view ? read(view) : absent;
    // The same object as long as it is equal: React renders again for any other.
    if (!equal(value, last.current)) last.current = value;
    return last.current;
  };
  return useSyncExternalStore(subscribe, snapshot, () => absent);
}

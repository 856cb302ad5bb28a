// What the hub serves as one file, /client/v1/matchwire.js.

export * from "./index.js";
export { verify } from "./verify.js";

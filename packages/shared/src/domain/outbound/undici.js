// @ts-self-types="./undici.d.ts"
// The part of undici that sends over connections of our making. Its index would load all of it, twice as much: fetch, WebSocket, caches,
// mocks. The paths are its own affair, which is why its version is exact; tests/events/delivery.test.ts sends by them.

export { default as request } from "undici/lib/api/api-request.js";
export { default as Agent } from "undici/lib/dispatcher/agent.js";

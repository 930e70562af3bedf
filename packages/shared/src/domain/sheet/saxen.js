// @ts-self-types="./saxen.d.ts"
// saxen has no types of its own.
export { Parser } from "saxen";

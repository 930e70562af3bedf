/** For a dashboard that has the person's session. The consent page, in `pages`, runs the same endpoint. */
export { surface } from "#shared/auth/authorize.ts";

// @ts-types="npm:@types/pg@8.23.1"
export { default } from "pg";

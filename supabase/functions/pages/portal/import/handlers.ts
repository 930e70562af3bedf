import {
  bringFile,
  bringInvited,
  bringOne,
  downloadCsvTemplate,
  downloadTemplate,
  showImportFile,
  showImportInvite,
  showImportOne,
} from "./bring.ts";
import {
  agreeImport,
  chooseColumns,
  confirmImport,
  downloadBad,
  downloadImport,
  mailImport,
  showImport,
} from "./look.ts";

/** What the pages do on which a partner brings customers, and their forms. */
export const handlers = {
  showImportFile,
  bringFile,
  downloadCsvTemplate,
  downloadTemplate,
  showImportOne,
  bringOne,
  showImportInvite,
  bringInvited,
  showImport,
  agreeImport,
  chooseColumns,
  confirmImport,
  mailImport,
  downloadBad,
  downloadImport,
};

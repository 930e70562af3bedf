import {
  bringFile,
  bringInvited,
  bringOne,
  downloadTemplate,
  showImportFile,
  showImportInvite,
  showImportOne,
} from "./bring.ts";
import { chooseColumns, confirmImport, downloadBad, downloadImport, showImport } from "./look.ts";

/** What the pages do on which a partner brings customers, and their forms. */
export const importPages = {
  showImportFile,
  bringFile,
  downloadTemplate,
  showImportOne,
  bringOne,
  showImportInvite,
  bringInvited,
  showImport,
  chooseColumns,
  confirmImport,
  downloadBad,
  downloadImport,
};

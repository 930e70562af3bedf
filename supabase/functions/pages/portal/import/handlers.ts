import {
  bringFile,
  bringInvited,
  bringOne,
  downloadTemplate,
  showImportFile,
  showImportInvite,
  showImportOne,
} from "./bring.ts";
import { confirmImport, downloadImport, showImport } from "./look.ts";

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
  confirmImport,
  downloadImport,
};

import { ACCOUNT_COMMANDS } from './accounts.ts';
import type { AdminCommand } from './admin-command.ts';
import { ALERT_COMMANDS } from './alerts.ts';
import { KEY_COMMANDS } from './keys.ts';
import { MODEL_COMMANDS } from './models.ts';
import { PROVIDER_COMMANDS, removeProvider } from './providers.ts';
import { REQUEST_COMMANDS } from './requests.ts';
import { NODE_COMMANDS, STORE_COMMANDS } from './store.ts';
import { TEAM_COMMANDS } from './teams.ts';
import { USAGE_COMMANDS } from './usage.ts';

/** All administration commands. The command line and the local admin API derive from this list. */
export const ADMIN_COMMANDS = [
  ...ACCOUNT_COMMANDS,
  ...TEAM_COMMANDS,
  ...KEY_COMMANDS,
  ...PROVIDER_COMMANDS,
  ...MODEL_COMMANDS,
  removeProvider,
  ...ALERT_COMMANDS,
  ...NODE_COMMANDS,
  ...USAGE_COMMANDS,
  ...REQUEST_COMMANDS,
  ...STORE_COMMANDS,
] as unknown as readonly AdminCommand[];

import type { ComponentType } from 'preact';
import type { IconName } from '../components/icon.tsx';
import type { ViewProps } from '../components/navigation.tsx';

/** Module of a view. */
interface ViewModule {
  readonly default: ComponentType<ViewProps>;
  /** Address of the view's own style: its import, `export const style = css`. */
  readonly style?: string;
}

interface View {
  /** First part of the address below `/console/`. */
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
  readonly access: 'anyone' | 'key' | 'owner';
  readonly load: () => Promise<ViewModule>;
}

type Row = readonly [path: string, label: string, IconName, View['access'], View['load']];

const ROWS: readonly Row[] = [
  ['', 'Overview', 'overview', 'key', () => import('../views/start/start.tsx')],
  ['images', 'Images', 'images', 'key', () => import('../views/images/images.tsx')],
  ['chat', 'Chat', 'chat', 'key', () => import('../views/chat/chat.tsx')],
  ['create', 'Create', 'create', 'key', () => import('../views/create/create.tsx')],
  ['tasks', 'Tasks', 'tasks', 'key', () => import('../views/tasks/tasks.tsx')],
  ['connect', 'Connect', 'connect', 'key', () => import('../views/connect/connect.tsx')],
  ['usage', 'Usage', 'usage', 'key', () => import('../views/usage/usage.tsx')],
  ['accounts', 'Accounts & keys', 'keys', 'owner', () => import('../views/accounts/accounts.tsx')],
  ['teams', 'Teams', 'teams', 'owner', () => import('../views/accounts/teams.tsx')],
  ['models', 'Models & routes', 'models', 'owner', () => import('../views/models/models.tsx')],
  ['requests', 'Requests', 'requests', 'owner', () => import('../views/requests/requests.tsx')],
  ['alerts', 'Alerts', 'alerts', 'owner', () => import('../views/alerts/alerts.tsx')],
  ['settings', 'Settings', 'settings', 'owner', () => import('../views/settings/settings.tsx')],
  ['api', 'API', 'api', 'anyone', () => import('../views/api/api.tsx')],
];

/** All views in the order of the navigation. Each is a script of its own, loaded when it is opened. */
export const VIEWS = ROWS.map(
  ([path, label, icon, access, load]): View => ({ path, label, icon, access, load }),
);

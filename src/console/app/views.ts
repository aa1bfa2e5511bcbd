import type { ComponentType } from 'preact';
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
  readonly access: 'anyone' | 'key' | 'owner';
  readonly load: () => Promise<ViewModule>;
}

type Row = readonly [path: string, label: string, View['access'], View['load']];

const ROWS: readonly Row[] = [
  ['', 'Overview', 'key', () => import('../views/start/start.tsx')],
  ['images', 'Images', 'key', () => import('../views/images/images.tsx')],
  ['chat', 'Chat', 'key', () => import('../views/chat/chat.tsx')],
  ['create', 'Create', 'key', () => import('../views/create/create.tsx')],
  ['tasks', 'Tasks', 'key', () => import('../views/tasks/tasks.tsx')],
  ['connect', 'Connect', 'key', () => import('../views/connect/connect.tsx')],
  ['usage', 'Usage', 'key', () => import('../views/usage/usage.tsx')],
  ['accounts', 'Accounts & keys', 'owner', () => import('../views/accounts/accounts.tsx')],
  ['models', 'Models & routes', 'owner', () => import('../views/models/models.tsx')],
  ['requests', 'Requests', 'owner', () => import('../views/requests/requests.tsx')],
  ['settings', 'Settings', 'owner', () => import('../views/settings/settings.tsx')],
  ['api', 'API', 'anyone', () => import('../views/api/api.tsx')],
];

/** All views in the order of the navigation. Each is a script of its own, loaded when it is opened. */
export const VIEWS = ROWS.map(
  ([path, label, access, load]): View => ({ path, label, access, load }),
);

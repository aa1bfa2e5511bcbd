import type { ComponentType } from 'preact';
import type { IconName } from '../components/icon.tsx';
import type { ViewProps } from '../components/navigation.tsx';

/** A view: `path` is the first part of its address below `/console/`. */
type Row = readonly [
  path: string,
  label: string,
  icon: IconName,
  access: 'anyone' | 'key' | 'owner',
  load: () => Promise<{ readonly default: ComponentType<ViewProps> }>,
];

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
export const VIEWS = ROWS.map(([path, label, icon, access, load]) => ({
  ...{ path, label, icon, access, load },
}));

import type { ViewModule } from './view.ts';

interface View {
  /** First part of the address below `/console/`. */
  readonly path: string;
  readonly label: string;
  readonly access: 'anyone' | 'key' | 'owner';
  readonly load: () => Promise<ViewModule>;
}

/** All views in the order of the navigation. Each is a script of its own, loaded when it is opened. */
export const VIEWS: readonly View[] = [
  {
    path: '',
    label: 'Overview',
    access: 'key',
    load: () => import('../views/start/start.tsx'),
  },
  {
    path: 'images',
    label: 'Images',
    access: 'key',
    load: () => import('../views/images/images.tsx'),
  },
  { path: 'chat', label: 'Chat', access: 'key', load: () => import('../views/chat/chat.tsx') },
  {
    path: 'create',
    label: 'Create',
    access: 'key',
    load: () => import('../views/create/create.tsx'),
  },
  { path: 'tasks', label: 'Tasks', access: 'key', load: () => import('../views/tasks/tasks.tsx') },
  { path: 'usage', label: 'Usage', access: 'key', load: () => import('../views/usage/usage.tsx') },
  {
    path: 'accounts',
    label: 'Accounts & keys',
    access: 'owner',
    load: () => import('../views/accounts/accounts.tsx'),
  },
  {
    path: 'models',
    label: 'Models & routes',
    access: 'owner',
    load: () => import('../views/models/models.tsx'),
  },
  {
    path: 'requests',
    label: 'Requests',
    access: 'owner',
    load: () => import('../views/requests/requests.tsx'),
  },
  {
    path: 'settings',
    label: 'Settings',
    access: 'owner',
    load: () => import('../views/settings/settings.tsx'),
  },
  { path: 'api', label: 'API', access: 'anyone', load: () => import('../views/api/api.tsx') },
];

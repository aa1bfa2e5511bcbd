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

function view(path: string, label: string, access: View['access'], load: View['load']): View {
  return { path, label, access, load };
}

/** All views in the order of the navigation. Each is a script of its own, loaded when it is opened. */
export const VIEWS: readonly View[] = [
  view('', 'Overview', 'key', () => import('../views/start/start.tsx')),
  view('images', 'Images', 'key', () => import('../views/images/images.tsx')),
  view('chat', 'Chat', 'key', () => import('../views/chat/chat.tsx')),
  view('create', 'Create', 'key', () => import('../views/create/create.tsx')),
  view('tasks', 'Tasks', 'key', () => import('../views/tasks/tasks.tsx')),
  view('usage', 'Usage', 'key', () => import('../views/usage/usage.tsx')),
  view('accounts', 'Accounts & keys', 'owner', () => import('../views/accounts/accounts.tsx')),
  view('models', 'Models & routes', 'owner', () => import('../views/models/models.tsx')),
  view('requests', 'Requests', 'owner', () => import('../views/requests/requests.tsx')),
  view('settings', 'Settings', 'owner', () => import('../views/settings/settings.tsx')),
  view('api', 'API', 'anyone', () => import('../views/api/api.tsx')),
];

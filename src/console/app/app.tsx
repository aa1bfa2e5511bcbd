import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api/request.ts';
import { loadSession, type Session, useSession } from '../api/session.ts';
import { Link, usePlace, type ViewProps } from '../components/navigation.tsx';
import { Empty, ErrorState, Loading } from '../components/states.tsx';
import { Toasts } from '../components/toast.tsx';
import { Frame } from './frame.tsx';
import { SignIn } from './sign-in.tsx';
import { VIEWS } from './views.ts';

/** The console: frame, sign-in, and the view of the address. */
export function App() {
  const session = useSession();
  const [fault, setFault] = useState<Error>();
  const load = () => {
    setFault(undefined);
    loadSession().catch(setFault);
  };
  useEffect(load, []);
  return (
    <Frame session={session}>
      {fault ? (
        <ErrorState error={fault} onRetry={load} />
      ) : session === undefined ? (
        <Loading />
      ) : (
        <CurrentView session={session} />
      )}
      <Toasts />
    </Frame>
  );
}

function CurrentView({ session }: { readonly session: Session | null }) {
  const { view: path } = usePlace();
  const view = VIEWS.find((one) => one.path === path);
  useEffect(() => {
    document.title = view ? `${view.label} · Oriel` : 'Oriel';
  }, [view]);
  if (!view) {
    return (
      <>
        <h1>There is no such page</h1>
        <Link to="">Back to the start</Link>
      </>
    );
  }
  if (view.access !== 'anyone' && session === null) return <SignIn />;
  if (view.access === 'owner' && !session?.owner) {
    return (
      <>
        <h1>{view.label}</h1>
        <Empty title="This page is for the owner of the server">
          <p>Sign in with a key of the account owner that has no limits.</p>
        </Empty>
      </>
    );
  }
  const load = () => Promise.all([view.load(), path !== '' && loadStyles()]);
  return <LoadedView key={view.path} load={load} session={session} />;
}

interface LoadedViewProps {
  readonly load: () => Promise<readonly [{ readonly default: ComponentType<ViewProps> }, unknown]>;
  readonly session: Session | null;
}

/** Loads what a view needs, then renders it. */
function LoadedView({ load, session }: LoadedViewProps) {
  const place = usePlace();
  const [View, setView] = useState<ComponentType<ViewProps>>();
  const [fault, setFault] = useState<Error>();
  useEffect(() => {
    load().then(
      ([{ default: view }]) => setView(() => view),
      () => setFault(new ApiError('This page could not be loaded. The server may be newer now.')),
    );
  }, []);
  if (fault) return <ErrorState error={fault} onRetry={() => location.reload()} />;
  if (!View) return <Loading />;
  return <View place={place} session={session!} />;
}

let styles: Promise<unknown> | undefined;

/** Loads the styles of all views but the overview, once. */
function loadStyles(): Promise<unknown> {
  styles ??= new Promise((resolve, reject) => {
    const link = document.createElement('link');
    link.onload = resolve;
    link.onerror = reject;
    link.rel = 'stylesheet';
    // The scripts and styles of the page are in one folder.
    link.href = new URL(document.documentElement.dataset['styles']!, import.meta.url).href;
    document.head.append(link);
  });
  return styles;
}

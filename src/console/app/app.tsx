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
  return <LoadedView key={view.path} load={view.load} session={session} />;
}

interface LoadedViewProps {
  readonly load: (typeof VIEWS)[number]['load'];
  readonly session: Session | null;
}

/** Loads the script and the style of a view, then renders it. */
function LoadedView({ load, session }: LoadedViewProps) {
  const place = usePlace();
  const [View, setView] = useState<ComponentType<ViewProps>>();
  const [fault, setFault] = useState<Error>();
  useEffect(() => {
    let isLeft = false;
    loadView(load).then(
      ({ view, style }) => {
        if (isLeft) return;
        showStyle(style);
        setView(() => view);
      },
      () => setFault(new ApiError('This page could not be loaded. The server may be newer now.')),
    );
    return () => {
      isLeft = true;
    };
  }, []);
  if (fault) return <ErrorState error={fault} onRetry={() => location.reload()} />;
  if (!View) return <Loading />;
  return <View place={place} session={session!} />;
}

async function loadView(load: LoadedViewProps['load']) {
  const { default: view, style: file } = await load();
  const style = file === undefined ? undefined : new URL(file, import.meta.url).href;
  if (style !== undefined && !styles.has(style)) await loadStyle(style);
  return { view, style };
}

/** Styles of views, by their addresses. */
const styles = new Map<string, HTMLLinkElement>();

/** Applies the style of one view alone: others have classes of the same names. */
function showStyle(style: string | undefined): void {
  for (const [href, { sheet }] of styles) sheet!.disabled = href !== style;
}

function loadStyle(href: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = href;
    link.onload = () => {
      styles.set(href, link);
      resolve();
    };
    link.onerror = () => reject(new Error(href));
    document.head.append(link);
  });
}

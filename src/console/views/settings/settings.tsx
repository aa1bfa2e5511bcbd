import { Empty } from '../../components/states.tsx';

export default function Settings() {
  return (
    <>
      <h1>Settings</h1>
      <Empty title="Not here yet" />
    </>
  );
}

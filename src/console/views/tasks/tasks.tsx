import { Empty } from '../../components/states.tsx';

export default function Tasks() {
  return (
    <>
      <h1>Tasks</h1>
      <Empty title="Not here yet" />
    </>
  );
}
